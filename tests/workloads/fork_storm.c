// SPDX-License-Identifier: GPL-2.0-only
/*
 * Starts a program again and again, at a given rate or as fast as this machine can.
 *
 *	fork_storm RATE SECONDS PROGRAM
 *
 * RATE is in processes a second, of all threads (one per CPU). Prints one line of JSON.
 */
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "workload.h"

#define MAX_THREADS 64

extern char **environ;

static struct {
	char *program;
	uint64_t start, ns; /* of the storm */
	double rate;
	atomic_ulong n;
} storm;

static void *spawner(void *arg)
{
	char *argv[] = { storm.program, NULL };
	uint64_t due;
	pid_t pid;
	int err;

	for (;;) {
		due = storm.start + atomic_fetch_add(&storm.n, 1) / storm.rate * NSEC_PER_SEC;
		if (due >= storm.start + storm.ns || now_ns() >= storm.start + storm.ns)
			break;
		if (due > now_ns() + 1000000)
			sleep_until(due);
		err = posix_spawn(&pid, storm.program, NULL, NULL, argv, environ);
		if (err)
			die(storm.program, err);
	}
	atomic_fetch_sub(&storm.n, 1); /* the process that was not started */
	return arg;
}

int main(int argc, char **argv)
{
	long n_threads = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t threads[MAX_THREADS];
	double seconds;

	if (argc != 4 || atof(argv[1]) <= 0 || atof(argv[2]) <= 0) {
		fprintf(stderr, "usage: fork_storm RATE SECONDS PROGRAM\n");
		return 2;
	}
	signal(SIGCHLD, SIG_IGN); /* the children need no wait() */
	storm.rate = atof(argv[1]);
	storm.ns = atof(argv[2]) * NSEC_PER_SEC;
	storm.program = argv[3];
	storm.start = now_ns();
	if (n_threads > MAX_THREADS)
		n_threads = MAX_THREADS;
	for (long i = 0; i < n_threads; i++)
		if (pthread_create(&threads[i], NULL, spawner, NULL))
			return 1;
	for (long i = 0; i < n_threads; i++)
		pthread_join(threads[i], NULL);
	seconds = (now_ns() - storm.start) / 1e9;
	printf("{\"pid\":%d,\"tid\":%d,\"processes\":%lu,\"seconds\":%.3f,\"rate\":%.0f}\n",
	       getpid(), getpid(), storm.n, seconds, storm.n / seconds);
	return 0;
}
