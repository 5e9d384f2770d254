/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The time for which a thread has run: its CPU time, where each piece counts as RAN_STEP_NS at
 * most. This leaves out time that a hypervisor took, in which nobody can sample the thread. A piece
 * is the time between two calls, so call it more often than every RAN_STEP_NS.
 */
#ifndef FRBPF_TESTS_RAN_H
#define FRBPF_TESTS_RAN_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define RAN_STEP_NS 2000000

struct ran { /* { 0 }: not begun */
	uint64_t last, sum;
};

/* Has it run for less than @ns since the first call? */
static inline bool ran__less(struct ran *r, uint64_t ns)
{
	struct timespec ts;
	uint64_t now, step;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	now = ts.tv_sec * 1000000000ULL + ts.tv_nsec;
	step = r->last ? now - r->last : 0;
	r->last = now;
	r->sum += step < RAN_STEP_NS ? step : RAN_STEP_NS;
	return r->sum < ns;
}

#endif
