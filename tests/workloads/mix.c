// SPDX-License-Identifier: GPL-2.0-only
/*
 * Spends its CPU time in two functions, in a given proportion, and waits in a third. Thus tests
 * know what differs between two recordings.
 *
 *	mix [--heavy PERCENT] [--rounds N] [--wait MS] [--waits N]
 *
 * A round is 100 parts, PERCENT (10) of them in mix_heavy(), the rest in mix_light(), which does
 * the same work. After all ROUNDS (100) it sleeps N times (0) for MS (50), below mix_waits().
 * Prints one line of JSON.
 */
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* no inlining and no tail calls: every level keeps its frame */
#define FRAME	__attribute__((noinline, noclone))
#define KEEP(x) __asm__ volatile("" : "+r"(x))

struct args {
	int heavy, rounds, wait_ms, waits;
};

static inline uint64_t work(uint64_t sum)
{
	/* a leaf function would have no frame of its own */
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
	for (uint64_t i = 0; i < 20000; i++) {
		sum += i * i;
		KEEP(sum);
	}
	return sum;
}

static FRAME uint64_t mix_light(uint64_t sum)
{
	sum = work(sum);
	KEEP(sum);
	return sum;
}

static FRAME uint64_t mix_heavy(uint64_t sum)
{
	sum = work(sum) + 1;
	KEEP(sum);
	return sum;
}

static FRAME uint64_t mix_round(int heavy, uint64_t sum)
{
	for (int i = 0; i < 100; i++)
		sum = i < heavy ? mix_heavy(sum) : mix_light(sum);
	KEEP(sum);
	return sum;
}

static FRAME void mix_wait(int ms)
{
	const struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
	KEEP(ms);
}

static FRAME void mix_waits(int n, int ms)
{
	for (int i = 0; i < n; i++)
		mix_wait(ms);
	KEEP(n);
}

static void parse_options(int argc, char **argv, struct args *a)
{
	static const struct option options[] = {
		{ "heavy", required_argument, NULL, 'h' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "wait", required_argument, NULL, 'w' },
		{ "waits", required_argument, NULL, 'n' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		int *v = c == 'h'   ? &a->heavy
			 : c == 'r' ? &a->rounds
			 : c == 'w' ? &a->wait_ms
				    : &a->waits;

		if (c == '?') {
			fprintf(stderr, "usage: mix [--heavy PERCENT] [--rounds N] [--wait MS] "
					"[--waits N]\n");
			exit(2);
		}
		*v = atoi(optarg);
	}
}

int main(int argc, char **argv)
{
	struct args a = { .heavy = 10, .rounds = 100, .wait_ms = 50 };
	uint64_t sum = 0;

	parse_options(argc, argv, &a);
	for (int i = 0; i < a.rounds; i++)
		sum = mix_round(a.heavy, sum);
	mix_waits(a.waits, a.wait_ms);
	printf("{\"pid\":%d,\"comm\":\"mix\",\"sum\":%llu}\n", getpid(), (unsigned long long)sum);
	return 0;
}
