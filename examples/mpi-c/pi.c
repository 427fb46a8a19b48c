/* Computes pi: each rank adds up every size-th strip under 4 / (1 + x^2). */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	const long strips = 100000000;
	double sum = 0, pi = 0;
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	/* Compiled with OpenMP for GPUs, the loop runs on the rank's GPU. */
#pragma omp target teams distribute parallel for reduction(+ : sum)
	for (long i = rank; i < strips; i += size) {
		double x = (i + 0.5) / strips;
		sum += 4 / (1 + x * x) / strips;
	}
	MPI_Reduce(&sum, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("pi is %.8f, by %d ranks\n", pi, size);
	MPI_Finalize();
	return 0;
}
