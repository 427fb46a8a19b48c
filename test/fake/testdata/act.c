/* act: an MPI program whose arguments choose what it does.
 *   act exit CODE RANK    that rank calls exit(CODE), without MPI_Finalize
 *   act final CODE RANK   that rank returns CODE after MPI_Finalize
 *   act abort CODE RANK   that rank calls MPI_Abort
 *   act kill SIGNAL RANK  that rank kills itself
 *   act lines N MS        every rank writes N numbered lines, MS milliseconds apart
 *   act wait              rank 0 prints "ready" when all ranks have met; all wait forever
 *   act save SECONDS      like wait; on SIGTERM each rank creates saved.RANK after SECONDS
 * A fourth argument is the number of seconds before the rank does it. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t asked;

static void ask(int number)
{
	(void)number;
	asked = 1;
}

static int is(const char *word, const char *other) { return strcmp(word, other) == 0; }

int main(int argc, char **argv)
{
	int rank, last = 0;
	const char *what = argc > 1 ? argv[1] : "";
	int first = argc > 2 ? atoi(argv[2]) : 0, second = argc > 3 ? atoi(argv[3]) : 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Barrier(MPI_COMM_WORLD);
	if (argc > 4)
		sleep((unsigned)atoi(argv[4]));
	if (is(what, "exit") && rank == second)
		exit(first);
	if (is(what, "abort") && rank == second)
		MPI_Abort(MPI_COMM_WORLD, first);
	if (is(what, "kill") && rank == second)
		kill(getpid(), first);
	if (is(what, "final") && rank == second)
		last = first;
	if (is(what, "lines"))
		for (int i = 0; i < first; i++) {
			printf("rank %d line %d\n", rank, i);
			fflush(stdout);
			usleep((useconds_t)second * 1000);
		}
	if (is(what, "wait")) {
		if (rank == 0) {
			puts("ready");
			fflush(stdout);
		}
		for (;;)
			pause();
	}
	if (is(what, "save")) {
		char name[32];
		signal(SIGTERM, ask);
		MPI_Barrier(MPI_COMM_WORLD);
		if (rank == 0) {
			puts("ready");
			fflush(stdout);
		}
		while (!asked)
			usleep(20000);
		for (int i = 0; i < first * 50; i++)
			usleep(20000);
		snprintf(name, sizeof name, "saved.%d", rank);
		fclose(fopen(name, "w"));
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return last;
}
