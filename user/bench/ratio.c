// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "bench/ratio.h"

#define EXACT_MAX 50

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double at_quantile(const double *sorted, size_t n, double q)
{
	double at = q * (n - 1);
	size_t i = at;

	return i + 1 < n ? sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

double ratio__quantile(double *v, size_t n, double q)
{
	qsort(v, n, sizeof(*v), compare_doubles);
	return at_quantile(v, n, q);
}

/*
 * The distribution of U if nothing differs. U is the sum of m numbers from 0 to n, in order, each
 * choice equally likely. The generating function is the Gaussian binomial coefficient: the product
 * of (1 - x^(n+i)) / (1 - x^i), i from 1 to m. Shares of all choices are used, so that a double
 * suffices.
 */
static size_t exact_rank(size_t m, size_t n, double alpha)
{
	double p[EXACT_MAX * EXACT_MAX + 1] = { 1 }, below = 0;
	size_t most = m * n, k = 0;

	for (size_t i = 1; i <= m; i++) {
		for (size_t u = most; u >= n + i; u--)
			p[u] -= p[u - n - i];
		for (size_t u = i; u <= most; u++)
			p[u] += p[u - i];
		for (size_t u = 0; u <= most; u++)
			p[u] *= (double)i / (n + i);
	}
	while (k <= most && below + p[k] <= alpha)
		below += p[k++];
	return k;
}

/* The z with P(Z < -z) = alpha, by bisection, as libm has only erfc(). */
static double normal_quantile(double alpha)
{
	double low = 0, high = 40;

	for (int i = 0; i < 200; i++) {
		double z = (low + high) / 2;

		if (erfc(z / M_SQRT2) / 2 > alpha)
			low = z;
		else
			high = z;
	}
	return high;
}

size_t ratio__rank(size_t m, size_t n, double alpha)
{
	double mean = m * n / 2.0, sd = sqrt((double)m * n * (m + n + 1) / 12), k;

	if (m <= EXACT_MAX && n <= EXACT_MAX)
		return exact_rank(m, n, alpha);
	k = floor(mean - normal_quantile(alpha) * sd - 0.5);
	return k > 0 ? k : 0;
}

/*
 * The distribution of W if nothing differs: each number from 1 to n is in the sum or not, equally
 * likely. Above 50 numbers, the normal distribution is used, as in ratio__rank().
 */
static size_t exact_signed_rank(size_t n, double alpha)
{
	double p[EXACT_MAX * (EXACT_MAX + 1) / 2 + 1] = { 1 }, below = 0;
	size_t most = 0, k = 0;

	for (size_t i = 1; i <= n; i++) {
		most += i;
		for (size_t w = most + 1; w--;)
			p[w] = (p[w] + (w >= i ? p[w - i] : 0)) / 2;
	}
	while (k <= most && below + p[k] <= alpha)
		below += p[k++];
	return k;
}

size_t ratio__signed_rank(size_t n, double alpha)
{
	double mean = n * (n + 1.0) / 4, sd = sqrt(n * (n + 1.0) * (2 * n + 1) / 24), k;

	if (n <= EXACT_MAX)
		return exact_signed_rank(n, alpha);
	k = floor(mean - normal_quantile(alpha) * sd - 0.5);
	return k > 0 ? k : 0;
}

static bool all_positive(const double *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!(v[i] > 0) || !isfinite(v[i]))
			return false;
	}
	return true;
}

/* Make the result from @n ratios; @k are dropped at each end. */
static struct ratio ratio_of_all(double *v, size_t n, size_t k)
{
	qsort(v, n, sizeof(*v), compare_doubles);
	return (struct ratio){ .estimate = at_quantile(v, n, 0.5),
			       .low = k ? v[k - 1] : 0,
			       .high = k ? v[n - k] : INFINITY,
			       .bounded = k };
}

int ratio__of(const double *before, size_t n_before, const double *now, size_t n_now, double alpha,
	      struct ratio *ret)
{
	size_t n = n_before * n_now;
	_cleanup_free_ double *v = NULL;

	if (!n_before || !n_now || n_before > RATIO_VALUES_MAX || n_now > RATIO_VALUES_MAX ||
	    !all_positive(before, n_before) || !all_positive(now, n_now))
		return -EINVAL;
	v = calloc(n, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < n_now; i++) {
		for (size_t j = 0; j < n_before; j++)
			v[i * n_before + j] = now[i] / before[j];
	}
	*ret = ratio_of_all(v, n, ratio__rank(n_before, n_now, alpha));
	return 0;
}

int ratio__of_pairs(const double *before, const double *now, size_t n, double alpha,
		    struct ratio *ret)
{
	_cleanup_free_ double *v = NULL;
	size_t at = 0;

	if (!n || n > RATIO_PAIRS_MAX || !all_positive(before, n) || !all_positive(now, n))
		return -EINVAL;
	v = calloc(n * (n + 1) / 2, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j <= i; j++)
			v[at++] = sqrt(now[i] / before[i]) * sqrt(now[j] / before[j]);
	}
	*ret = ratio_of_all(v, at, ratio__signed_rank(n, alpha));
	return 0;
}
