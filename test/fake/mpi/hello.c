/* hello: one line per rank, written by rank 0 in rank order:
 *   rank 3 of 8 on WORKER session ID pid N cpus LIST
 * cpus is Cpus_allowed_list of the rank's own /proc/self/status, so that a test
 * sees whether two workers that share a machine were bound to one core. */
#include <mpi.h>
#include <string.h>

#include "where.h"

enum { LINE = 512 };

static void cpus(char *out, size_t size)
{
	char line[LINE];
	const char *key = "Cpus_allowed_list:\t";
	FILE *status = fopen("/proc/self/status", "r");
	snprintf(out, size, "unknown");
	if (!status)
		return;
	while (fgets(line, sizeof line, status))
		if (strncmp(line, key, strlen(key)) == 0) {
			line[strcspn(line, "\n")] = 0;
			snprintf(out, size, "%.*s", (int)size - 1, line + strlen(key));
		}
	fclose(status);
}

int main(int argc, char **argv)
{
	int rank, size;
	char list[128], mine[LINE], *all = NULL;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	cpus(list, sizeof list);
	memset(mine, 0, sizeof mine);
	snprintf(mine, sizeof mine, "rank %d of %d on %s session %s pid %d cpus %s",
		 rank, size, where(), session(), (int)getpid(), list);
	if (rank == 0)
		all = malloc((size_t)size * LINE);
	MPI_Gather(mine, LINE, MPI_CHAR, all, LINE, MPI_CHAR, 0, MPI_COMM_WORLD);
	for (int i = 0; rank == 0 && i < size; i++)
		puts(all + i * LINE);
	free(all);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
