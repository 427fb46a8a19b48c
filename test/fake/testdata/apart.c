/* Rank 1 hangs in load_batch. The others wait for it in step, by polling, as MPI does. */
#include <mpi.h>
#include <unistd.h>

static void load_batch(void)
{
	for (;;)
		pause();
}

static void step(void)
{
	int one = 1, sum;
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 1)
		load_batch();
	step();
	return MPI_Finalize();
}
