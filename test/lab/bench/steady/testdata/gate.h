/* A gate in front of ranks, which an external program opens for one slice at a time. Each rank waits
 * until it gets a shared lock of GATE-0, for the next slice of GATE-1, then of GATE-0 again.
 * When all ranks have finished a slice, rank 0 writes its seconds as a line to
 * GATE-slices. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

struct gate {
	const char *path;
	int rank, told, locks[2];
	long slice;
};

static char *gate_file(const struct gate *g, const char *end)
{
	char *path = malloc(4096);
	snprintf(path, 4096, "%s-%s", g->path, end);
	return path;
}

static int gate_opened(const struct gate *g, const char *end, int flags)
{
	char *path = gate_file(g, end);
	int fd = open(path, flags);
	if (fd < 0) {
		perror(path);
		PMPI_Abort(MPI_COMM_WORLD, 1);
	}
	free(path);
	return fd;
}

static struct gate gate_at(const char *path)
{
	struct gate g = {.path = path, .told = -1};
	PMPI_Comm_rank(MPI_COMM_WORLD, &g.rank);
	g.locks[0] = gate_opened(&g, "0", O_RDONLY);
	g.locks[1] = gate_opened(&g, "1", O_RDONLY);
	if (g.rank == 0)
		g.told = gate_opened(&g, "slices", O_WRONLY);
	return g;
}

/* gate_pass waits for the next slice, asleep, so that the other job's ranks have the processors. */
static void gate_pass(struct gate *g)
{
	int lock = g->locks[g->slice++ % 2];
	flock(lock, LOCK_SH);
	flock(lock, LOCK_UN);
}

/* gate_tell ends a slice. All ranks have passed its gate by then, so it may be closed. */
static void gate_tell(struct gate *g, double seconds)
{
	PMPI_Barrier(MPI_COMM_WORLD);
	if (g->rank == 0)
		dprintf(g->told, "%.9g\n", seconds);
}
