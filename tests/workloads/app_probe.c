// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hits the probe of configs/include/frbpf.h: app_probe [TIMES [MS [--until FILE | --missed N]]]
 *
 * --until: TIMES times, at the end, once FILE is there. --missed: in place of TIMES, every 100 us until an
 * uprobe is at its first instruction, at most N times: tells how long that took from the start of main().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../configs/include/frbpf.h"

static long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000L + ts.tv_nsec;
}

static void await(const char *file)
{
	while (access(file, F_OK))
		usleep(10000);
}

/* Called at its own address, as the breakpoint is read from there. */
static __attribute__((noinline)) void hit(long ns)
{
	FRBPF_TRIGGER(slow_request, ns);
}

/* Is a breakpoint of an uprobe there? */
static int is_watched(void)
{
	const void *code = (const void *)(unsigned long)hit;
#if defined(__aarch64__)
	const unsigned *insns = code;

	for (int i = 0; i < 4; i++) {
		if (insns[i] == 0xd42000a0) /* BRK64_OPCODE_UPROBES */
			return 1;
	}
	return 0;
#else
	return memchr(code, 0xcc, 8) != NULL; /* int3; it has no number with such a byte */
#endif
}

static long wait_for_probe(long ns, long most)
{
	long begin = now_ns(), n = 0;

	for (; n < most && !is_watched(); n++) {
		hit(ns);
		usleep(100);
	}
	return n < most ? now_ns() - begin : -1;
}

int main(int argc, char **argv)
{
	long times = argc > 1 ? atol(argv[1]) : 1, ms = argc > 2 ? atol(argv[2]) : 0, waited = 0;
	long begin;

	if (argc > 4 && !strcmp(argv[3], "--until"))
		await(argv[4]);
	if (argc > 4 && !strcmp(argv[3], "--missed"))
		waited = wait_for_probe(ms * 1000000, atol(argv[4]));
	begin = now_ns();
	for (long i = 0; i < times; i++) {
		hit(ms * 1000000);
		FRBPF_TRIGGER(constant, 812000000UL);
	}
	printf("{\"pid\": %d, \"begin_ns\": %ld, \"end_ns\": %ld, \"probed_after_ns\": %ld}\n",
	       (int)getpid(), begin, now_ns(), waited);
	return 0;
}
