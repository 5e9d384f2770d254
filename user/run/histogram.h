/* SPDX-License-Identifier: GPL-2.0-only */
/* Durations counted by powers of two, as a rule's state has them. */
#ifndef FRBPF_RUN_HISTOGRAM_H
#define FRBPF_RUN_HISTOGRAM_H

#include <stdint.h>

#include "frbpf.h"

struct histogram { /* { 0 } is an empty one */
	uint64_t n;
	uint64_t max, sum;		    /* ns; exact */
	uint64_t buckets[FRBPF_MAX_VALUES]; /* bucket i: from 2^i ns on; 0 and 1 are in the first */
};

struct histogram histogram__of(const struct frbpf_rule_state *st);

/* The value in ns that @percent of all do not exceed, interpolated within its bucket: wrong by a
 * factor of two at most, and never above the maximum. 0 for an empty one. */
uint64_t histogram__percentile(const struct histogram *h, double percent);

#endif
