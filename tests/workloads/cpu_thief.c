// SPDX-License-Identifier: GPL-2.0-only
/*
 * Takes the CPUs away from all other tasks at random times, as a hypervisor with other guests does.
 *
 * cpu_thief [--share PERCENT] [--longest MS] [--seed N]
 *
 * Each CPU has a thread. It is busy at the highest real-time priority for 1 ms to MS (60; long
 * bursts are rare). Then it sleeps so long that it takes PERCENT (30) of its CPU on average. One
 * time in eight all threads begin at once, as when a whole machine stands still. Runs until it is
 * killed.
 */
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "workload.h"

#define NSEC_PER_MSEC 1000000ULL
#define TOGETHER      8			 /* one burst in so many is on all CPUs */
#define SLOT_NS	      (NSEC_PER_SEC / 4) /* such a burst begins at a multiple of this */

struct args {
	unsigned int share, longest_ms, seed;
};

struct thief {
	const struct args *args;
	int cpu;
	uint64_t random;
};

/* xorshift64*, by S. Vigna */
static double random_share(struct thief *t)
{
	t->random ^= t->random >> 12;
	t->random ^= t->random << 25;
	t->random ^= t->random >> 27;
	return (double)((t->random * 0x2545f4914f6cdd1dULL) >> 11) / (1ULL << 53);
}

static void *thief_main(void *arg)
{
	struct thief *t = arg;
	struct sched_param param = { .sched_priority = sched_get_priority_max(SCHED_FIFO) };
	cpu_set_t set;
	int err;

	CPU_ZERO(&set);
	CPU_SET(t->cpu, &set);
	err = pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	if (!err)
		err = pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);
	if (err) {
		fprintf(stderr, "cpu_thief: CPU %d: %s\n", t->cpu, strerror(err));
		exit(1);
	}
	for (;;) {
		double r = random_share(t);
		/* the cube makes long ones rare: the mean is a quarter of the longest */
		uint64_t busy = NSEC_PER_MSEC + r * r * r * t->args->longest_ms * NSEC_PER_MSEC;
		uint64_t idle = busy * (100 - t->args->share) / t->args->share, now = now_ns();

		if (random_share(t) * TOGETHER < 1)
			sleep_until((now / SLOT_NS + 1) * SLOT_NS);
		else
			sleep_until(now + idle);
		for (now = now_ns(); now_ns() < now + busy;)
			;
	}
	return NULL;
}

static void parse_options(int argc, char **argv, struct args *a)
{
	static const struct option options[] = {
		{ "share", required_argument, NULL, 's' },
		{ "longest", required_argument, NULL, 'l' },
		{ "seed", required_argument, NULL, 'r' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		unsigned long v = c == '?' ? 0 : strtoul(optarg, NULL, 10);

		*(c == 's' ? &a->share : c == 'l' ? &a->longest_ms : &a->seed) = v;
		if (c == '?')
			exit(2);
	}
	if (optind < argc || a->share < 1 || a->share > 90 || !a->longest_ms ||
	    a->longest_ms > 10000) {
		fprintf(stderr, "usage: cpu_thief [--share PERCENT] [--longest MS] [--seed N]\n");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct args args = { .share = 30, .longest_ms = 60, .seed = getpid() };
	int n = sysconf(_SC_NPROCESSORS_CONF);
	struct thief *thieves = calloc(n, sizeof(*thieves));
	pthread_t thread;
	cpu_set_t allowed;

	parse_options(argc, argv, &args);
	if (!thieves || sched_getaffinity(0, sizeof(allowed), &allowed))
		return 1;
	for (int i = 0; i < n; i++) {
		thieves[i] = (struct thief){ &args, i, args.seed * 2654435761ULL + i + 1 };
		if (CPU_ISSET(i, &allowed) &&
		    pthread_create(&thread, NULL, thief_main, &thieves[i]))
			return 1;
	}
	pause();
}
