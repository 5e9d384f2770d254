// SPDX-License-Identifier: GPL-2.0-only
#include "bench/schedule.h"

size_t schedule__wanted(const struct bench_opts *opts, const struct series *before)
{
	size_t n;

	if (opts->repeat)
		return opts->repeat;
	if (!opts->baseline)
		return REPEAT_DEFAULT;
	/* as many as the baseline has undisturbed runs */
	n = series__quiet_runs(before, SERIES_WALL, opts->others_limit);
	return n >= SERIES_LEAST ? n : SERIES_LEAST;
}

/* The order is this, other, other, this, and again, so that drift affects both alike. */
bool schedule__is_other(const struct bench_opts *opts, const struct series *before,
			const struct series *now)
{
	size_t place = (now->n_runs + before->n_runs) % 4;

	return opts->against && (place == 1 || place == 2);
}

struct compare_opts schedule__compare_opts(const struct bench_opts *opts)
{
	return (struct compare_opts){ opts->tolerance, opts->others_limit,
				      .paired = opts->against };
}

bool schedule__enough_pairs(const struct series *other, const struct series *this, size_t wanted,
			    const struct compare_opts *opts)
{
	size_t n = this->n_runs;
	struct comparison c;
	bool precise;

	if (n < wanted || n != other->n_runs) /* half of a pair may be complete */
		return false;
	if (n >= PAIRS_EXTRA * wanted || n >= SERIES_RUNS_MAX ||
	    comparison__make(other, this, opts, &c))
		return true;
	precise = comparison__is_precise(&c);
	comparison__free(&c);
	return precise;
}

bool schedule__goes_on(const struct bench_opts *opts, const struct series *before,
		       const struct series *now, size_t wanted)
{
	struct compare_opts compare = schedule__compare_opts(opts);
	size_t n = now->n_runs;

	if (opts->against)
		return !schedule__enough_pairs(before, now, wanted, &compare);
	if (!opts->baseline && !opts->save_baseline)
		return n < wanted;
	return series__quiet_runs(now, SERIES_WALL, opts->others_limit) < wanted &&
	       n < REPEAT_EXTRA * wanted && n < SERIES_RUNS_MAX;
}
