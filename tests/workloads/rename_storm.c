// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that come, name themselves twice, burn under each name, and go.
 *
 *	rename_storm [THREADS]
 *
 * Thread N is "early-N" while it runs burn_early() and "late-N" while it runs burn_late(), 4 ms of
 * CPU time each. Prints one line of JSON.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "ran.h"

#define BURN_NS 4000000
#define AT_ONCE 8

/* @step: makes the code differ by caller, so that the compiler does not fold it. */
static inline __attribute__((always_inline)) void burn(unsigned int step)
{
	struct ran ran = { 0 };
	uint64_t sum = 0;

	while (ran__less(&ran, BURN_NS))
		for (unsigned int i = 0; i < 50000; i += step) {
			sum += i * i;
			__asm__ volatile("" : "+r"(sum));
		}
}

__attribute__((noinline, noclone)) static void burn_early(void)
{
	burn(1);
}

__attribute__((noinline, noclone)) static void burn_late(void)
{
	burn(2);
}

static void *thread_main(void *arg)
{
	char name[16];

	snprintf(name, sizeof(name), "early-%d", (int)(intptr_t)arg);
	prctl(PR_SET_NAME, name);
	burn_early();
	snprintf(name, sizeof(name), "late-%d", (int)(intptr_t)arg);
	prctl(PR_SET_NAME, name);
	burn_late();
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 100;
	pthread_t threads[AT_ONCE];

	for (int i = 0; i < n + AT_ONCE; i++) {
		if (i >= AT_ONCE && i - AT_ONCE < n)
			pthread_join(threads[i % AT_ONCE], NULL);
		if (i < n &&
		    pthread_create(&threads[i % AT_ONCE], NULL, thread_main, (void *)(intptr_t)i)) {
			perror("rename_storm: pthread_create");
			return 1;
		}
	}
	printf("{\"pid\":%d,\"tid\":%d,\"threads\":%d}\n", getpid(), getpid(), n);
	return 0;
}
