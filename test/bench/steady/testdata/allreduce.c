/* allreduce: sums a vector over all ranks, again and again, in slices that somebody else
 * allots. Usage: allreduce GATE LENGTH TURNS
 *
 * Each rank waits until it may share a lock of GATE-0, for the next slice of GATE-1, then of
 * GATE-0 again. A slice is TURNS turns behind a fifth as many that do not count; rank 0 then
 * writes the seconds of those that did, a line, to GATE-slices. The job ends with 0 when
 * GATE-end is there, and with 1 at a wrong sum. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

static char *below(const char *gate, const char *end)
{
	char *path = malloc(4096);
	snprintf(path, 4096, "%s-%s", gate, end);
	return path;
}

static int opened(const char *path, int flags)
{
	int fd = open(path, flags);
	if (fd < 0) {
		perror(path);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return fd;
}

int main(int argc, char **argv)
{
	int rank, size, over = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc != 4)
		MPI_Abort(MPI_COMM_WORLD, 64);
	int length = atoi(argv[2]), turns = atoi(argv[3]);
	int gates[2] = {opened(below(argv[1], "0"), O_RDONLY), opened(below(argv[1], "1"), O_RDONLY)};
	int told = rank ? -1 : opened(below(argv[1], "slices"), O_WRONLY);
	double *mine = malloc(length * sizeof *mine), *sum = malloc(length * sizeof *sum), began = 0;
	for (int i = 0; i < length; i++)
		mine[i] = rank + 1;
	for (int slice = 0;; slice++) {
		flock(gates[slice % 2], LOCK_SH); /* asleep: whoever has the slice has the processors */
		flock(gates[slice % 2], LOCK_UN);
		if (rank == 0)
			over = access(below(argv[1], "end"), F_OK) == 0;
		MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
		if (over)
			break;
		for (int i = -turns / 5; i < turns; i++) {
			if (i == 0)
				began = MPI_Wtime();
			MPI_Allreduce(mine, sum, length, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		}
		double took = MPI_Wtime() - began;
		if (sum[length - 1] != size * (size + 1) / 2.0)
			MPI_Abort(MPI_COMM_WORLD, 1);
		MPI_Barrier(MPI_COMM_WORLD); /* all are behind this slice's gate, which may be shut */
		if (rank == 0)
			dprintf(told, "%.9g\n", took);
	}
	MPI_Finalize();
	return 0;
}
