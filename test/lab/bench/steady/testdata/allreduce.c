/* allreduce: sums a vector over all ranks, repeatedly, in slices that an external program
 * starts (gate.h). Usage: allreduce GATE LENGTH TURNS
 *
 * A slice is TURNS iterations, preceded by a fifth as many that do not count. The job ends with exit code 0 if
 * the file GATE-end exists, and with 1 if a sum is wrong. */
#include "gate.h"

int main(int argc, char **argv)
{
	int size, over = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc != 4)
		MPI_Abort(MPI_COMM_WORLD, 64);
	struct gate gate = gate_at(argv[1]);
	char *end = gate_file(&gate, "end");
	int length = atoi(argv[2]), turns = atoi(argv[3]);
	double *mine = malloc(length * sizeof *mine), *sum = malloc(length * sizeof *sum), began = 0;
	for (int i = 0; i < length; i++)
		mine[i] = gate.rank + 1;
	for (;;) {
		gate_pass(&gate);
		if (gate.rank == 0)
			over = access(end, F_OK) == 0;
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
		gate_tell(&gate, took);
	}
	MPI_Finalize();
	return 0;
}
