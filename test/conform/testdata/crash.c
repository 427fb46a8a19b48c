/* crash: a library that is preloaded into an MPI daemon. It ends the daemon with SIGSEGV at the very end of its life,
 * like a bug in the daemon's own cleanup. CRASH is the name of the daemon as in /proc, CRASH_AT is how the value
 * of MUSTER_FAKE_WORKER ends on the worker that crashes, and CRASH_SAY is a file to create. The daemons of
 * Open MPI 4 and 6 leave their first process behind, so the first process of an Open MPI is spared. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pid_t first;

__attribute__((constructor)) static void begin(void)
{
	first = getpid();
}

__attribute__((destructor)) static void crash(void)
{
	const char *who = getenv("CRASH"), *at = getenv("CRASH_AT"), *here = getenv("MUSTER_FAKE_WORKER");
	char name[32] = "";
	FILE *f = fopen("/proc/self/comm", "r");

	if (f == NULL || who == NULL || at == NULL || here == NULL)
		return;
	if (fgets(name, sizeof name, f) != NULL)
		name[strcspn(name, "\n")] = '\0';
	fclose(f);
	if (strcmp(name, who) != 0 || strlen(here) < strlen(at) || strcmp(here + strlen(here) - strlen(at), at) != 0)
		return;
	if ((strcmp(name, "orted") == 0 || strcmp(name, "prted") == 0) && getpid() == first)
		return;
	f = fopen(getenv("CRASH_SAY"), "w");
	if (f != NULL)
		fclose(f);
	signal(SIGSEGV, SIG_DFL);
	kill(getpid(), SIGSEGV);
}
