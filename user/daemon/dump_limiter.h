/* SPDX-License-Identifier: GPL-2.0-only */
/* Times of the last dumps, for the sliding window of `max-dumps = N in T`. Allocates nothing. */
#ifndef FRBPF_DAEMON_DUMP_LIMITER_H
#define FRBPF_DAEMON_DUMP_LIMITER_H

#include "rules/rate.h"

struct dump_limiter {
	uint64_t begun;			   /* dumps begun so far */
	uint64_t times[RULESET_DUMPS_MAX]; /* ns, of the last dumps; dump i is at i % size */
};

static inline void dump_limiter__note(struct dump_limiter *l, uint64_t now)
{
	l->times[l->begun++ % RULESET_DUMPS_MAX] = now;
}

/* Time from which @max allows one more dump, ns; 0: at any time. */
static inline uint64_t dump_limiter__free_at(const struct dump_limiter *l, const struct rate *max)
{
	if (!max->n || l->begun < max->n)
		return 0;
	return l->times[(l->begun - max->n) % RULESET_DUMPS_MAX] + max->window;
}

#endif
