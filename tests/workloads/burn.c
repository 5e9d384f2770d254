// SPDX-License-Identifier: GPL-2.0-only
/*
 * Burns CPU in a call chain that is easy to find in a profile: burn_outer -> burn_middle ->
 * burn_inner.
 *
 *	burn [--seconds S] [--threads N]
 *
 * S may be a fraction. Prints one line of JSON; rounds is how often burn_inner() ran, in all
 * threads.
 */
#include <getopt.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "workload.h"

#define MAX_THREADS 256

/* no inlining and no tail calls: every level keeps its frame */
#define FRAME	__attribute__((noinline, noclone))
#define KEEP(x) __asm__ volatile("" : "+r"(x))

struct burner {
	pthread_t thread;
	uint64_t end; /* ns */
	uint64_t rounds;
};

static FRAME uint64_t burn_inner(uint64_t sum)
{
	/* a leaf function would have no frame, and callchains would skip its caller */
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
	for (uint64_t i = 0; i < 100000; i++) {
		sum += i * i;
		KEEP(sum);
	}
	return sum;
}

static FRAME uint64_t burn_middle(uint64_t sum)
{
	sum = burn_inner(sum);
	KEEP(sum);
	return sum;
}

static FRAME uint64_t burn_outer(uint64_t sum)
{
	sum = burn_middle(sum);
	KEEP(sum);
	return sum;
}

static void *burner_main(void *arg)
{
	struct burner *b = arg;
	uint64_t sum = 0;

	while (now_ns() < b->end) {
		sum = burn_outer(sum);
		b->rounds++;
	}
	return NULL;
}

static void usage(void)
{
	fprintf(stderr, "usage: burn [--seconds S] [--threads N]\n");
	exit(2);
}

static void parse_options(int argc, char **argv, double *seconds, int *threads)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 's' },
		{ "threads", required_argument, NULL, 't' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 's':
			*seconds = atof(optarg);
			break;
		case 't':
			*threads = atoi(optarg);
			break;
		default:
			usage();
		}
	}
	if (optind < argc || *seconds <= 0 || *threads < 1 || *threads > MAX_THREADS)
		usage();
}

int main(int argc, char **argv)
{
	struct burner burners[MAX_THREADS] = { 0 };
	uint64_t begin = now_ns(), rounds = 0;
	double seconds = 1;
	int threads = 1;

	parse_options(argc, argv, &seconds, &threads);
	for (int i = 0; i < threads; i++) {
		int err;

		burners[i].end = begin + (uint64_t)(seconds * NSEC_PER_SEC);
		err = pthread_create(&burners[i].thread, NULL, burner_main, &burners[i]);
		if (err)
			die("pthread_create", err);
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(burners[i].thread, NULL);
		rounds += burners[i].rounds;
	}
	printf("{\"pid\":%d,\"tid\":%d,\"comm\":\"burn\",\"threads\":%d,\"rounds\":%llu,"
	       "\"begin_ns\":%llu,\"end_ns\":%llu}\n",
	       getpid(), getpid(), threads, (unsigned long long)rounds, (unsigned long long)begin,
	       (unsigned long long)now_ns());
	return 0;
}
