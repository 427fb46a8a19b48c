/* where: no MPI. Prints the worker, session and pid it runs under, then each
 * environment variable named by its arguments. For raw `agent rsh` sessions and
 * for mpirun's non-MPI programs. */
#include "where.h"

int main(int argc, char **argv)
{
	printf("on %s session %s pid %d\n", where(), session(), (int)getpid());
	for (int i = 1; i < argc; i++) {
		const char *value = getenv(argv[i]);
		printf("%s=%s\n", argv[i], value ? value : "(unset)");
	}
	return 0;
}
