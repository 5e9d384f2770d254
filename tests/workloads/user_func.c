// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls its own functions, which tests watch, and measures them itself.
 *
 *	user_func [--call slow|recurse|jump|hit|spin|probe|ticks|pair] [--ms N] [--times T]
 *		  [--depth D] [--comm NAME] [--wait]
 *
 *	--call slow	user_func_slow(N, 2, 3) sleeps N ms and returns 7 * N; the default
 *	--call recurse	user_func_recurse(D) calls itself until 0, where it sleeps
 *	--call jump	user_func_jump(1) leaves by longjmp(), T times; user_func_jump(0) sleeps
 *	--call hit	user_func_hit(i) does nothing
 *	--call spin	the same T times, reported once
 *	--call probe	hits the static probe frbpf_test:tick with -i, 1000 + i and a constant
 *	--call ticks	the same T times, reported once
 *	--call pair	hits that probe, sleeps, and calls user_func_hit(1000 + i)
 *	--ms N		how long it sleeps (50)
 *	--times T	how often (1); i counts from 0
 *	--depth D	of the recursion (3)
 *	--comm NAME	name of the task
 *	--wait		say "waiting", and begin when a line comes on standard input
 *
 * Prints one line of JSON per call that returns; the time printed includes that of the function.
 */
#include <errno.h>
#include <getopt.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "workload.h"

#define WATCHED __attribute__((noinline, noclone, used))

/* Like sys/sdt.h of SystemTap; with a semaphore that counts watchers. */
#if defined(__x86_64__)
#define ARG_FORMAT "-4@%0 8@%1 -4@$-5"
#else
#define ARG_FORMAT "-8@%0 8@%1 -8@-5"
#endif
#define PROBE(a, b)                                                                                \
	__asm__ volatile("990:\tnop\n"                                                             \
			 ".pushsection .note.stapsdt,\"\",\"note\"\n"                              \
			 ".balign 4\n"                                                             \
			 ".4byte 992f-991f, 994f-993f, 3\n"                                        \
			 "991:\t.asciz \"stapsdt\"\n"                                              \
			 "992:\t.balign 4\n"                                                       \
			 "993:\t.8byte 990b\n"                                                     \
			 ".8byte _.stapsdt.base\n"                                                 \
			 ".8byte frbpf_test_tick_semaphore\n"                                      \
			 ".asciz \"frbpf_test\"\n"                                                 \
			 ".asciz \"tick\"\n"                                                       \
			 ".asciz \"" ARG_FORMAT "\"\n"                                             \
			 "994:\t.balign 4\n"                                                       \
			 ".popsection\n"                                                           \
			 ".ifndef _.stapsdt.base\n"                                                \
			 ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"   \
			 ".weak _.stapsdt.base\n"                                                  \
			 ".hidden _.stapsdt.base\n"                                                \
			 "_.stapsdt.base: .space 1\n"                                              \
			 ".size _.stapsdt.base, 1\n"                                               \
			 ".popsection\n"                                                           \
			 ".endif\n" ::"r"(a),                                                      \
			 "r"(b))

volatile unsigned short frbpf_test_tick_semaphore __attribute__((section(".probes"), used));

struct args {
	const char *call, *comm;
	int ms, times, depth, wait;
};

static jmp_buf way_out;

static void sleep_ms(int ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

WATCHED long user_func_slow(int ms, int a, int b)
{
	sleep_ms(ms);
	return 7L * ms + 0 * a * b;
}

WATCHED int user_func_recurse(int depth, int ms)
{
	int below = 0;

	if (depth > 0)
		below = user_func_recurse(depth - 1, ms);
	else
		sleep_ms(ms);
	__asm__ volatile("" : "+r"(below)); /* the compiler must not make this a loop */
	return below + 1;
}

WATCHED int user_func_jump(int away, int ms)
{
	if (away)
		longjmp(way_out, 1);
	sleep_ms(ms);
	return 1;
}

WATCHED int user_func_hit(int i)
{
	__asm__ volatile("" : "+r"(i));
	return i;
}

static void report(const struct args *a, uint64_t begin, long ret)
{
	uint64_t end = now_ns();

	printf("{\"pid\":%d,\"call\":\"%s\",\"took_ns\":%llu,\"begin_ns\":%llu,\"end_ns\":%llu,"
	       "\"ret\":%ld,\"semaphore\":%d}\n",
	       getpid(), a->call, (unsigned long long)(end - begin), (unsigned long long)begin,
	       (unsigned long long)end, ret, frbpf_test_tick_semaphore);
}

static void run_jumps(const struct args *a)
{
	volatile int left = a->times;
	uint64_t begin;

	if (setjmp(way_out))
		left--;
	if (left > 0)
		user_func_jump(1, 0);
	begin = now_ns();
	report(a, begin, user_func_jump(0, a->ms));
}

static void run_spin(const struct args *a)
{
	uint64_t begin = now_ns();
	long sum = 0;

	for (int i = 0; i < a->times; i++)
		sum += user_func_hit(i);
	report(a, begin, sum);
}

static void tick(int i)
{
#if defined(__x86_64__)
	PROBE(-i, 1000L + i);
#else
	PROBE((long)-i, 1000L + i);
#endif
}

static void run_ticks(const struct args *a)
{
	uint64_t begin = now_ns();

	for (int i = 0; i < a->times; i++)
		tick(i);
	report(a, begin, a->times);
}

static void run(const struct args *a)
{
	if (!strcmp(a->call, "jump")) {
		run_jumps(a);
		return;
	}
	if (!strcmp(a->call, "spin")) {
		run_spin(a);
		return;
	}
	if (!strcmp(a->call, "ticks")) {
		run_ticks(a);
		return;
	}
	for (int i = 0; i < a->times; i++) {
		uint64_t begin = now_ns();

		if (!strcmp(a->call, "slow")) {
			report(a, begin, user_func_slow(a->ms, 2, 3));
		} else if (!strcmp(a->call, "recurse")) {
			report(a, begin, user_func_recurse(a->depth, a->ms));
		} else if (!strcmp(a->call, "hit")) {
			report(a, begin, user_func_hit(i));
		} else if (!strcmp(a->call, "pair")) {
			tick(i);
			sleep_ms(a->ms);
			report(a, begin, user_func_hit(1000 + i));
		} else {
			tick(i);
			report(a, begin, i);
		}
	}
}

static void usage(void)
{
	fprintf(stderr,
		"usage: user_func [--call slow|recurse|jump|hit|spin|probe|ticks|pair] [--ms N]\n"
		"                 [--times T] [--depth D] [--comm NAME] [--wait]\n");
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "call", required_argument, NULL, 'x' },
		{ "ms", required_argument, NULL, 'm' },
		{ "times", required_argument, NULL, 't' },
		{ "depth", required_argument, NULL, 'd' },
		{ "comm", required_argument, NULL, 'c' },
		{ "wait", no_argument, NULL, 'w' },
		{ 0 },
	};
	struct args a = { .call = "slow", .ms = 50, .times = 1, .depth = 3 };
	char line[64];
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'x':
			a.call = optarg;
			break;
		case 'm':
			a.ms = atoi(optarg);
			break;
		case 't':
			a.times = atoi(optarg);
			break;
		case 'd':
			a.depth = atoi(optarg);
			break;
		case 'c':
			a.comm = optarg;
			break;
		case 'w':
			a.wait = 1;
			break;
		default:
			usage();
		}
	}
	if (optind < argc)
		usage();
	if (a.comm)
		prctl(PR_SET_NAME, a.comm);
	if (a.wait) {
		puts("waiting");
		fflush(stdout);
		if (!fgets(line, sizeof(line), stdin))
			return 1;
	}
	run(&a);
	return 0;
}
