/* hpcc: adds a gate (gate.h, at $GATE) to a program that has none. It is preloaded, and uses MPI's
 * profiling interface to intercept calls between the program and the library.
 *
 * The first slice is everything before HPL, which hpcc runs last; each further slice is a
 * solution. HPL splits the communicator of all ranks again for each entry in its list of process grids. Its clock
 * starts after that and stops before the next split. The first $OTHERS splits are not HPL's:
 * PTRANS uses the same list, five times. */
#include "gate.h"

static struct gate gate;
static double began;
static int others; /* remaining splits that are not HPL's */

static void pass(void)
{
	gate_pass(&gate);
	began = PMPI_Wtime();
}

int MPI_Init(int *argc, char ***argv)
{
	int code = PMPI_Init(argc, argv);
	gate = gate_at(getenv("GATE"));
	others = atoi(getenv("OTHERS"));
	pass();
	return code;
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made)
{
	if (comm == MPI_COMM_WORLD && others-- <= 0) {
		gate_tell(&gate, PMPI_Wtime() - began);
		pass();
	}
	return PMPI_Comm_split(comm, color, key, made);
}

int MPI_Finalize(void)
{
	gate_tell(&gate, PMPI_Wtime() - began);
	return PMPI_Finalize();
}
