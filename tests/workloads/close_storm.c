// SPDX-License-Identifier: GPL-2.0-only
/* Calls close(-1) in as many threads as are asked for, until standard input ends: matches of
 * `syscall:close fails (EBADF)` as fast as the kernel takes them. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS_MAX 16

static volatile int stop;

static void *closer(void *unused __attribute__((unused)))
{
	while (!stop)
		close(-1);
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc == 2 ? atoi(argv[1]) : 0;
	pthread_t threads[THREADS_MAX];
	char c;

	if (n < 1 || n > THREADS_MAX) {
		fprintf(stderr, "usage: close_storm THREADS (1 to %d)\n", THREADS_MAX);
		return 1;
	}
	for (int i = 0; i < n; i++) {
		if (pthread_create(&threads[i], NULL, closer, NULL))
			return 1;
	}
	while (read(0, &c, 1) > 0)
		;
	stop = 1;
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
