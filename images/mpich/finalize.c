/* Lets programs of Debian 12's MPICH 4.0.2 end. Its MPI_Finalize closes the
 * connections and then waits in PMI's barrier, where it answers no peer. Over TCP
 * (UCX 1.13) a peer that is still closing then spins forever. This happened between pods
 * in 1 of 5 runs on 2 hosts and nearly always on 20, with every way to start ranks.
 *
 * If this library is preloaded, all ranks meet in a barrier, answer each other for a moment, and leave
 * the closing of connections to the kernel. Programs without MPI never call
 * it, and it does not link MPI, so they do not load MPI either. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *mpich(const char *name)
{
	/* Python loads the library without exporting its symbols globally. */
	void *library = dlopen("libmpich.so.12", RTLD_LAZY | RTLD_NOLOAD);
	void *function = library ? dlsym(library, name) : NULL;
	if (!function) {
		fprintf(stderr, "finalize.so: no %s\n", name);
		abort();
	}
	return function;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Replaces UCX's function: NULL means that the connection is already closed. */
void *ucp_disconnect_nb(void *endpoint)
{
	(void)endpoint;
	return NULL;
}

int MPI_Finalize(void)
{
	int (*barrier)(MPI_Comm) = mpich("PMPI_Barrier");
	int (*probe)(int, int, MPI_Comm, int *, MPI_Status *) = mpich("PMPI_Iprobe");
	int (*finalize)(void) = mpich("PMPI_Finalize");
	const struct timespec pause = {0, 1000000};
	int any;

	barrier(MPI_COMM_WORLD);
	for (double end = now() + 0.3; now() < end; nanosleep(&pause, NULL))
		probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &any, MPI_STATUS_IGNORE);
	return finalize();
}
