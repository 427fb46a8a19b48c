/* allreduce: sums a vector over all ranks, again and again. Usage: allreduce TIMES LENGTH WARM.
 * WARM turns go before those that count. Rank 0 prints the ranks, the seconds of the
 * counted turns, and the median of one in microseconds. A wrong sum ends the job with 1. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	int rank, size;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	int times = argc > 1 ? atoi(argv[1]) : 1000, length = argc > 2 ? atoi(argv[2]) : 1000, warm = argc > 3 ? atoi(argv[3]) : times / 10;
	double *mine = malloc(length * sizeof *mine), *sum = malloc(length * sizeof *sum), *took = malloc(times * sizeof *took);
	for (int i = 0; i < length; i++)
		mine[i] = rank + 1;
	for (int i = 0; i < warm; i++) /* the job's start is over: connections are made, who started it rests */
		MPI_Allreduce(mine, sum, length, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	double began = MPI_Wtime(), last = began;
	for (int i = 0; i < times; i++) {
		MPI_Allreduce(mine, sum, length, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		double now = MPI_Wtime();
		took[i] = now - last;
		last = now;
	}
	if (sum[length - 1] != size * (size + 1) / 2.0)
		MPI_Abort(MPI_COMM_WORLD, 1);
	if (rank == 0) {
		qsort(took, times, sizeof *took, order);
		printf("allreduce %d %.9g %.9g\n", size, last - began, took[times / 2] * 1e6);
	}
	MPI_Finalize();
	return 0;
}
