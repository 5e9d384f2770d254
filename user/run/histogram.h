/* SPDX-License-Identifier: GPL-2.0-only */
/* Durations, counted in buckets of powers of two, as in the state of a rule. */
#ifndef FRBPF_RUN_HISTOGRAM_H
#define FRBPF_RUN_HISTOGRAM_H

#include <stdint.h>

#include "abi.h"

struct histogram { /* { 0 } is an empty one */
	uint64_t n;
	uint64_t max, sum; /* ns; exact */
	/* bucket i: from 2^i ns up; 0 and 1 ns are in the first */
	uint64_t buckets[FRBPF_MAX_VALUES];
};

struct histogram histogram__of(const struct frbpf_rule_state *st);

/*
 * The value, ns, that @percent of all values do not exceed. It is interpolated within its bucket,
 * so it is wrong by at most a factor of two, and never above the maximum. 0 if empty.
 */
uint64_t histogram__percentile(const struct histogram *h, double percent);

#endif
