/* endure SECONDS [exit CODE RANK | kill SIGNAL RANK]: an MPI program that runs for SECONDS.
 * Rank 0 prints "ready" when all ranks have met. Then the ranks meet every 100 ms, so that each one notices when
 * another rank is lost. RANK ends after a second: with exit(CODE) and without MPI_Finalize, or by the signal. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void say(const char *word)
{
	puts(word);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int rank, on = 1, seconds = argc > 1 ? atoi(argv[1]) : 1;
	int value = argc > 4 ? atoi(argv[3]) : 0, who = argc > 4 ? atoi(argv[4]) : -1;
	time_t began = time(NULL);

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		say("ready");
	if (rank == who) {
		sleep(1);
		if (strcmp(argv[2], "kill") == 0)
			kill(getpid(), value);
		exit(value);
	}
	while (on) {
		usleep(100000);
		on = time(NULL) - began < seconds;
		MPI_Bcast(&on, 1, MPI_INT, 0, MPI_COMM_WORLD);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	if (rank == 0)
		say("done");
	MPI_Finalize();
	return 0;
}
