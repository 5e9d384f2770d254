/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many times larger the values of one series of runs are than those of another, and how sure that
 * is. The estimate is that of Hodges and Lehmann: the median of the ratios of all pairs. The interval
 * are those ratios that the test of Mann and Whitney (Wilcoxon's rank sum) does not reject, so
 * "the interval is above 1.05" and "the test says: more than 5 % larger" are one thing. Nothing is assumed of
 * the distribution, outliers have no weight, and there is no random number in it: Hollander and Wolfe,
 * Nonparametric Statistical Methods, 4.2 and 4.3. Of pairs, whose two values were measured one right after the
 * other, the same by the signed ranks of Wilcoxon: what changes from pair to pair and not within one has no part in
 * it (3.2 and 3.3).
 */
#ifndef FRBPF_BENCH_RATIO_H
#define FRBPF_BENCH_RATIO_H

#include <stdbool.h>
#include <stddef.h>

#define RATIO_VALUES_MAX 1000 /* of one series */
#define RATIO_PAIRS_MAX	 1000

struct ratio {
	double estimate;
	double low, high; /* 0 and infinity: too few values for that certainty */
	bool bounded;
};

/* Of @now to @before, all of them above 0. @alpha: how often @low is above the true ratio, at most, and
 * @high below. -EINVAL: none of one, too many, or not above 0; -ENOMEM. */
int ratio__of(const double *before, size_t n_before, const double *now, size_t n_now, double alpha,
	      struct ratio *ret);

/* As ratio__of() of @n pairs: the median of the geometric means of any two of their ratios. */
int ratio__of_pairs(const double *before, const double *now, size_t n, double alpha,
		    struct ratio *ret);

/* How many of the m * n ratios, from the least, are to be left out: the largest k with P(U < k) <= alpha.
 * 0: there is none. Exact up to 50 values each, by the normal distribution beyond. */
size_t ratio__rank(size_t m, size_t n, double alpha);
/* The same of the n * (n + 1) / 2 means of pairs: the largest k with P(W < k) <= alpha. */
size_t ratio__signed_rank(size_t n, double alpha);

/* The value that the share @q (0 to 1) of @v, which is sorted by this, does not exceed; interpolated.
 * @n is above 0. */
double ratio__quantile(double *v, size_t n, double q);

#endif
