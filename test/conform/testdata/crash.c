/* crash: preloaded, it ends an MPI daemon by SIGSEGV at the very end of its life, as
 * a fault in its own cleaning up would. CRASH names the daemon as /proc has it, AT
 * the end of MUSTER_FAKE_WORKER where it is to happen, CRASH_SAY a file to make. Open MPI 4's daemon leaves its first
 * process behind, which is spared. */
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
	if (strcmp(name, "orted") == 0 && getpid() == first)
		return;
	f = fopen(getenv("CRASH_SAY"), "w");
	if (f != NULL)
		fclose(f);
	signal(SIGSEGV, SIG_DFL);
	kill(getpid(), SIGSEGV);
}
