// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls close(-1) in THREADS threads until standard input ends: matches of
 * `syscall:close fails (EBADF)` as fast as the kernel takes them.
 *
 *	close_storm THREADS
 *
 * Prints {"calls":N,"ns":T} at the end.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "workload.h"

#define THREADS_MAX 16

static volatile int stop;

static void *closer(void *unused __attribute__((unused)))
{
	uintptr_t calls = 0;

	while (!stop) {
		close(-1);
		calls++;
	}
	return (void *)calls;
}

int main(int argc, char **argv)
{
	int n = argc == 2 ? atoi(argv[1]) : 0;
	uint64_t calls = 0, begin = now_ns();
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
	for (int i = 0; i < n; i++) {
		void *made = NULL;

		pthread_join(threads[i], &made);
		calls += (uintptr_t)made;
	}
	printf("{\"calls\":%llu,\"ns\":%llu}\n", (unsigned long long)calls,
	       (unsigned long long)(now_ns() - begin));
	return 0;
}
