/* late.so, for LD_PRELOAD: fork returns late in a daemon's threads, except in its
 * first thread. Meanwhile the child ends, and the first thread reaps it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int is_daemon(void)
{
	const char *name = program_invocation_short_name;
	return !strcmp(name, "orted") || !strcmp(name, "prted");
}

pid_t fork(void)
{
	pid_t (*real)(void) = (pid_t (*)(void))dlsym(RTLD_NEXT, "fork");
	pid_t pid = real();
	if (pid > 0 && is_daemon() && gettid() != getpid()) {
		struct timespec left = {0, 200000000};
		while (nanosleep(&left, &left) == -1 && errno == EINTR)
			;
	}
	return pid;
}
