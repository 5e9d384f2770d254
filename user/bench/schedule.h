/* SPDX-License-Identifier: GPL-2.0-only */
/* How many runs are made, of what, and in which order. */
#ifndef FRBPF_BENCH_SCHEDULE_H
#define FRBPF_BENCH_SCHEDULE_H

#include "bench/against.h"
#include "bench/bench.h"

#define REPEAT_DEFAULT 30 /* runs, or pairs */
#define REPEAT_EXTRA   3  /* times as many runs at most, where others disturb */
#define PAIRS_EXTRA    4  /* times as many pairs at most, where they differ much from one another */

/* How many runs are wanted: those that were left alone, for a baseline or a comparison with one; else runs, or pairs.
 * @before: the baseline. */
size_t schedule__wanted(const struct bench_opts *opts, const struct series *before);
/* Is the next run one of the other command? The first is not. */
bool schedule__is_other(const struct bench_opts *opts, const struct series *before,
			const struct series *now);
/* Are there more runs to come? */
bool schedule__goes_on(const struct bench_opts *opts, const struct series *before,
		       const struct series *now, size_t wanted);
/* Do these pairs say enough, or are they as many as are made at most where @wanted were asked for? */
bool schedule__enough_pairs(const struct series *other, const struct series *this, size_t wanted,
			    const struct compare_opts *opts);

struct compare_opts schedule__compare_opts(const struct bench_opts *opts);

#endif
