/* A rank that waits in load_batch for a lock that is never released. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int load_batch(void)
{
	pthread_mutex_lock(&lock);
	return 0;
}

int main(void)
{
	pthread_mutex_lock(&lock);
	puts("on");
	fflush(stdout);
	return load_batch();
}
