/* where: the worker that a rank runs on, as text for people and tests.
 *
 * A fake worker shares its host name with the others, so the marks that its
 * session carries count first: MUSTER_WORKER (set by PID 1 in every session,
 * never in the launcher), then MPI's own word for the host. */
#ifndef MUSTER_WHERE_H
#define MUSTER_WHERE_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline const char *where(void)
{
	static char host[256];
	const char *worker = getenv("MUSTER_WORKER");
	if (worker && *worker)
		return worker;
	if (gethostname(host, sizeof host - 1) != 0)
		snprintf(host, sizeof host, "unknown");
	return host;
}

static inline const char *session(void)
{
	const char *id = getenv("MUSTER_SESSION");
	return id && *id ? id : "none";
}

#endif
