/* SPDX-License-Identifier: GPL-2.0-only */
/* Decides how many runs are made, of which command, and in which order. */
#ifndef FRBPF_BENCH_SCHEDULE_H
#define FRBPF_BENCH_SCHEDULE_H

#include "bench/against.h"
#include "bench/bench.h"

#define REPEAT_DEFAULT 30 /* runs, or pairs */
#define REPEAT_EXTRA   3  /* maximum factor of additional runs, if others disturb */
#define PAIRS_EXTRA    4  /* maximum factor of pairs, if they differ a lot */

/*
 * Number of wanted runs. For a baseline, or a comparison with one, only undisturbed runs count;
 * otherwise all runs, or pairs. @before: the baseline.
 */
size_t schedule__wanted(const struct bench_opts *opts, const struct series *before);
/* Is the next run one of the other command? The first is not. */
bool schedule__is_other(const struct bench_opts *opts, const struct series *before,
			const struct series *now);
/* Are more runs needed? */
bool schedule__goes_on(const struct bench_opts *opts, const struct series *before,
		       const struct series *now, size_t wanted);
/* Do these pairs say enough, or is the maximum for @wanted pairs reached? */
bool schedule__enough_pairs(const struct series *other, const struct series *this, size_t wanted,
			    const struct compare_opts *opts);

struct compare_opts schedule__compare_opts(const struct bench_opts *opts);

#endif
