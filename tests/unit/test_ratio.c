// SPDX-License-Identifier: GPL-2.0-only
/*
 * Comparison of two series: against published tables, by counting all cases, and by random samples.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "bench/ratio.h"

/*
 * Critical values of U in published tables (significant up to k - 1): Mann and Whitney 1947,
 * one-sided 0.025, 0.005 and 0.001.
 */
static void test_rank_tables(void **state)
{
	static const struct {
		size_t m, n;
		double alpha;
		size_t rank;
	} table[] = {
		{ 3, 3, 0.025, 0 },    { 4, 4, 0.025, 1 },     { 5, 5, 0.025, 3 },
		{ 5, 5, 0.005, 1 },    { 4, 4, 0.005, 0 },     { 7, 5, 0.025, 6 },
		{ 8, 8, 0.025, 14 },   { 10, 10, 0.025, 24 },  { 10, 10, 0.005, 17 },
		{ 10, 10, 0.001, 11 }, { 20, 20, 0.025, 128 }, { 20, 20, 0.005, 106 },
		{ 12, 15, 0.005, 38 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		assert_int_equal(ratio__rank(table[i].m, table[i].n, table[i].alpha),
				 table[i].rank);
		assert_int_equal(ratio__rank(table[i].n, table[i].m, table[i].alpha),
				 table[i].rank);
	}
}

/* All choices of 6 of 11 ranks, counted. */
static void test_rank_by_counting(void **state)
{
	size_t count[31] = { 0 }, all = 0;

	for (unsigned int set = 0; set < 1u << 11; set++) {
		size_t u = 0, others = 0;

		if (__builtin_popcount(set) != 6)
			continue;
		for (int i = 0; i < 11; i++) {
			if (set & 1u << i)
				u += others;
			else
				others++;
		}
		count[u]++;
		all++;
	}
	for (double alpha = 0.0005; alpha < 0.5; alpha += 0.00131) {
		size_t k = 0, below = 0;

		while (below + count[k] <= alpha * all)
			below += count[k++];
		assert_int_equal(ratio__rank(6, 5, alpha), k);
	}
}

/* Critical values of W in published tables (significant up to k - 1): Wilcoxon 1945, one-sided. */
static void test_signed_rank_tables(void **state)
{
	static const struct {
		size_t n;
		double alpha;
		size_t rank;
	} table[] = {
		{ 5, 0.025, 0 },   { 6, 0.025, 1 },    { 7, 0.005, 0 },	   { 8, 0.005, 1 },
		{ 10, 0.025, 9 },  { 10, 0.005, 4 },   { 15, 0.005, 16 },  { 20, 0.025, 53 },
		{ 20, 0.005, 38 }, { 30, 0.025, 138 }, { 30, 0.005, 110 }, { 50, 0.005, 374 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		assert_int_equal(ratio__signed_rank(table[i].n, table[i].alpha), table[i].rank);
}

/* All signs of 10 ranks, counted. */
static void test_signed_rank_by_counting(void **state)
{
	size_t count[56] = { 0 };

	for (unsigned int set = 0; set < 1u << 10; set++) {
		size_t w = 0;

		for (int i = 0; i < 10; i++)
			w += set & 1u << i ? i + 1 : 0;
		count[w]++;
	}
	for (double alpha = 0.0005; alpha < 0.5; alpha += 0.00131) {
		size_t k = 0, below = 0;

		while (below + count[k] <= alpha * 1024)
			below += count[k++];
		assert_int_equal(ratio__signed_rank(10, alpha), k);
	}
}

/* The exact and the normal distribution agree where one replaces the other. */
static void test_rank_of_many(void **state)
{
	double exact = ratio__rank(50, 50, 0.005), normal = ratio__rank(51, 50, 0.005);

	assert_true(fabs(normal / exact - 51.0 / 50) < 0.01);
	assert_in_range(ratio__rank(1000, 1000, 0.005), 466000, 468000);
	exact = ratio__signed_rank(50, 0.005);
	normal = ratio__signed_rank(51, 0.005);
	assert_true(fabs(normal / exact - 51.0 * 52 / (50.0 * 51)) < 0.03);
}

static void test_known(void **state)
{
	const double before[] = { 10, 11, 12, 13, 14 }, now[] = { 20, 22, 24, 26, 28 };
	struct ratio r;

	assert_int_equal(ratio__of(before, 5, now, 5, 0.005, &r), 0);
	assert_true(fabs(r.estimate - 2) < 1e-9);
	assert_true(r.bounded);
	assert_true(fabs(r.low - 20.0 / 14) < 1e-9);
	assert_true(fabs(r.high - 2.8) < 1e-9);
	assert_int_equal(ratio__of(now, 5, before, 5, 0.005, &r), 0);
	assert_true(fabs(r.estimate - 0.5) < 1e-9);
}

/* A common factor of both values of a pair changes nothing, however large it is. */
static void test_pairs(void **state)
{
	double before[10], now[10], last;
	struct ratio r;

	for (int i = 0; i < 10; i++) {
		before[i] = 10 * pow(3, i % 4);
		now[i] = before[i] * (1.2 + i * 0.001);
	}
	assert_int_equal(ratio__of_pairs(before, now, 10, 0.005, &r), 0);
	assert_true(r.bounded);
	assert_true(r.estimate > 1.204 && r.estimate < 1.205);
	assert_true(r.low > 1.2 && r.high < 1.21);
	assert_int_equal(ratio__of(before, 10, now, 10, 0.005, &r), 0);
	assert_true(r.low < 1 && r.high > 2);
	/* an outlier has no weight */
	last = now[9];
	now[9] = 1e9;
	assert_int_equal(ratio__of_pairs(before, now, 10, 0.005, &r), 0);
	assert_true(r.estimate > 1.2 && r.estimate < 1.21 && r.low > 1.2);
	now[9] = last;
	assert_int_equal(ratio__of_pairs(now, before, 10, 0.005, &r), 0);
	assert_true(fabs(r.estimate * 1.2045 - 1) < 1e-3);
	assert_int_equal(ratio__of_pairs(before, now, 7, 0.005, &r), 0);
	assert_false(r.bounded);
	assert_int_equal(ratio__of_pairs(before, now, 0, 0.005, &r), -EINVAL);
	assert_int_equal(ratio__of_pairs(before, now, RATIO_PAIRS_MAX + 1, 0.005, &r), -EINVAL);
	before[2] = 0;
	assert_int_equal(ratio__of_pairs(before, now, 10, 0.005, &r), -EINVAL);
}

/* A far outlier counts no more than a value that is slightly too large. */
static void test_outliers(void **state)
{
	double before[10], now[10];
	struct ratio r, mild;

	for (int i = 0; i < 10; i++) {
		before[i] = 100 + i;
		now[i] = 100.5 + i;
	}
	now[9] = 130;
	assert_int_equal(ratio__of(before, 10, now, 10, 0.005, &mild), 0);
	now[9] = 1e9;
	assert_int_equal(ratio__of(before, 10, now, 10, 0.005, &r), 0);
	assert_true(fabs(r.estimate - mild.estimate) < 1e-9);
	assert_true(fabs(r.low - mild.low) < 1e-9);
	assert_true(r.high < 1.2);
}

static void test_bad(void **state)
{
	const double good[] = { 1, 2, 3 }, zero[] = { 1, 0, 2 }, not [] = { 1, NAN, 2 };
	struct ratio r = { .estimate = 7 };

	assert_int_equal(ratio__of(good, 0, good, 3, 0.005, &r), -EINVAL);
	assert_int_equal(ratio__of(good, 3, good, 0, 0.005, &r), -EINVAL);
	assert_int_equal(ratio__of(good, 3, zero, 3, 0.005, &r), -EINVAL);
	assert_int_equal(ratio__of(not, 3, good, 3, 0.005, &r), -EINVAL);
	assert_int_equal(ratio__of(good, RATIO_VALUES_MAX + 1, good, 3, 0.005, &r), -EINVAL);
	assert_true(fabs(r.estimate - 7) < 1e-9);
	/* too few for that certainty: reported as such, and not as equal */
	assert_int_equal(ratio__of(good, 3, good, 3, 0.005, &r), 0);
	assert_false(r.bounded);
	assert_true(r.low <= 0 && isinf(r.high));
}

static void test_quantiles(void **state)
{
	double v[] = { 5, 1, 4, 2, 3 };

	assert_true(fabs(ratio__quantile(v, 5, 0.5) - 3) < 1e-9);
	assert_true(fabs(ratio__quantile(v, 5, 0.25) - 2) < 1e-9);
	assert_true(fabs(ratio__quantile(v, 5, 0.9) - 4.6) < 1e-9);
	assert_true(fabs(ratio__quantile(v, 5, 1) - 5) < 1e-9);
	assert_true(fabs(ratio__quantile(v, 1, 0.5) - 1) < 1e-9);
}

static uint64_t seed = 1;

static double uniform(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 11) * 0x1p-53;
}

/* A skewed distribution with a long tail, like that of times, times @factor. */
static void draw(double *v, size_t n, double factor)
{
	for (size_t i = 0; i < n; i++)
		v[i] = factor * (100 - 5 * log(1 - uniform()));
}

/*
 * Both values of a pair are from a machine whose speed changes between pairs by more than the
 * effect.
 */
static void drift(double *before, double *now, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		double machine = exp(uniform());

		before[k] *= machine;
		now[k] *= machine;
	}
}

/* How often the interval is above @limit, in 4,000 comparisons with a fixed seed. */
static double share_above(bool paired, size_t n, double factor, double limit)
{
	double before[20], now[20];
	struct ratio r;
	int above = 0;

	seed = 42;
	for (int i = 0; i < 4000; i++) {
		draw(before, n, 1);
		draw(now, n, factor);
		if (paired)
			drift(before, now, n);
		assert_int_equal(paired ? ratio__of_pairs(before, now, n, 0.005, &r)
					: ratio__of(before, n, now, n, 0.005, &r),
				 0);
		above += r.low > limit;
	}
	return above / 4000.0;
}

static void test_error_rates(void **state)
{
	/* at most 0.5 % if the ratio equals the limit: 20 of 4,000, with a margin */
	assert_true(share_above(false, 10, 1, 1) <= 0.0085);
	assert_true(share_above(false, 10, 1, 1) >= 0.0015);
	assert_true(share_above(false, 20, 1, 1) <= 0.0085);
	/* the same if the true ratio and the limit are not 1 */
	assert_true(share_above(false, 10, 1.05, 1.05) <= 0.0085);
	assert_true(share_above(false, 10, 1, 1.05) < 0.0005);
	assert_true(share_above(false, 10, 1.2, 1.05) > 0.9);
	assert_true(share_above(false, 20, 1.2, 1.05) > 0.99);
}

static void test_error_rates_of_pairs(void **state)
{
	assert_true(share_above(true, 10, 1, 1) <= 0.0085);
	assert_true(share_above(true, 10, 1, 1) >= 0.0015);
	assert_true(share_above(true, 20, 1, 1) <= 0.0085);
	assert_true(share_above(true, 10, 1.05, 1.05) <= 0.0085);
	assert_true(share_above(true, 10, 1, 1.05) < 0.0005);
	assert_true(share_above(true, 20, 1.2, 1.05) > 0.99);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rank_tables),
		cmocka_unit_test(test_rank_by_counting),
		cmocka_unit_test(test_rank_of_many),
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_outliers),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_quantiles),
		cmocka_unit_test(test_error_rates),
		cmocka_unit_test(test_signed_rank_tables),
		cmocka_unit_test(test_signed_rank_by_counting),
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_error_rates_of_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
