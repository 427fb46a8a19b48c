/* pi: the midpoint rule for 4/(1+x^2) on [0,1], split over all ranks and summed
 * by MPI_Reduce. Usage: pi [STEPS]. Every rank prints where it runs. Rank 0 prints
 * the sum and exits 1 when it is further than 1e-6 from pi, so that a run whose
 * reduction lost a rank does not pass for a good one. */
#include <math.h>
#include <mpi.h>
#include <string.h>

#include "where.h"

static const double PI = 3.14159265358979323846;

int main(int argc, char **argv)
{
	int rank, size, bad = 0;
	long steps = argc > 1 ? strtol(argv[1], NULL, 10) : 20 * 1000 * 1000;
	double sum = 0, pi = 0, start;
	char mine[256], *all = NULL;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (steps < 1000)
		steps = 1000;
	start = MPI_Wtime();
	for (long i = rank; i < steps; i += size) {
		double x = ((double)i + 0.5) / (double)steps;
		sum += 4.0 / (1.0 + x * x);
	}
	sum /= (double)steps;
	MPI_Reduce(&sum, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);

	memset(mine, 0, sizeof mine);
	snprintf(mine, sizeof mine, "%s", where());
	if (rank == 0)
		all = malloc((size_t)size * sizeof mine);
	MPI_Gather(mine, sizeof mine, MPI_CHAR, all, sizeof mine, MPI_CHAR, 0, MPI_COMM_WORLD);
	if (rank == 0) {
		for (int i = 0; i < size; i++)
			printf("rank %d of %d on %s\n", i, size, all + (size_t)i * sizeof mine);
		printf("pi = %.12f (error %.1e) from %d ranks, %.2f s\n", pi, fabs(pi - PI),
		       size, MPI_Wtime() - start);
		bad = fabs(pi - PI) > 1e-6;
		free(all);
	}
	MPI_Finalize();
	return bad;
}
