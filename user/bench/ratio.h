/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ratio of the values of two series of runs, and its certainty. The estimate is that of Hodges
 * and Lehmann: the median of the ratios of all pairs. The interval contains the ratios that the
 * test of Mann and Whitney (Wilcoxon's rank sum) does not reject. So "the interval is above 1.05"
 * and "the test says: more than 5 % larger" are equivalent. No distribution is assumed, outliers
 * have no weight, and no random numbers are used. See Hollander and Wolfe, Nonparametric
 * Statistical Methods, 4.2 and 4.3.
 *
 * For pairs, whose two values were measured right after each other, Wilcoxon's signed ranks are
 * used: changes from pair to pair do not count, only those within pairs (3.2 and 3.3).
 */
#ifndef FRBPF_BENCH_RATIO_H
#define FRBPF_BENCH_RATIO_H

#include <stdbool.h>
#include <stddef.h>

#define RATIO_VALUES_MAX 1000 /* of one series */
#define RATIO_PAIRS_MAX	 1000

struct ratio {
	double estimate;
	double low, high; /* 0 and infinity: too few values for this certainty */
	bool bounded;
};

/*
 * The ratio of @now to @before. All values are above 0. @alpha: maximum probability that @low is
 * above the true ratio, and that @high is below it. -EINVAL: no values, too many, or not above 0;
 * -ENOMEM.
 */
int ratio__of(const double *before, size_t n_before, const double *now, size_t n_now, double alpha,
	      struct ratio *ret);

/* The same for @n pairs: the median of the geometric means of any two of their ratios. */
int ratio__of_pairs(const double *before, const double *now, size_t n, double alpha,
		    struct ratio *ret);

/*
 * Number of the m * n ratios to drop at each end: the largest k with P(U < k) <= alpha; 0: none.
 * Exact up to 50 values each, above that by the normal distribution.
 */
size_t ratio__rank(size_t m, size_t n, double alpha);
/* The same for the n * (n + 1) / 2 means of pairs: the largest k with P(W < k) <= alpha. */
size_t ratio__signed_rank(size_t n, double alpha);

/*
 * The value that the share @q (0 to 1) of @v does not exceed, interpolated. Sorts @v. @n is above
 * 0.
 */
double ratio__quantile(double *v, size_t n, double q);

#endif
