// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program that is just starting: its threads come one after the other.
 *
 *	late_threads N
 *
 * Prints its pid, and on the first line of standard input starts N threads, 2 ms apart; each wakes
 * up every 20 ms. Says "ready" when all are there, and ends with standard input.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *work(void *arg)
{
	for (;;)
		usleep(20000);
	return arg;
}

int main(int argc, char **argv)
{
	int n = argc == 2 ? atoi(argv[1]) : 0;
	char line[16];
	pthread_t t;

	if (n < 1) {
		fprintf(stderr, "usage: late_threads N\n");
		return 2;
	}
	printf("%d\n", getpid());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 0;
	for (int i = 0; i < n; i++) {
		if (pthread_create(&t, NULL, work, NULL)) {
			perror("late_threads: pthread_create");
			return 1;
		}
		usleep(2000);
	}
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}
