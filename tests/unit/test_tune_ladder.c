// SPDX-License-Identifier: GPL-2.0-only
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>

#include "cmd/tune_ladder.h"
#include "rules/units.h"

#define DAY (86400 * NSEC_PER_SEC)

/* Values whose number above t is @n * (@from / t)^@slope, rounded down; each makes an incident. */
static void fill(struct tune_step *steps, double n, uint64_t from, double slope)
{
	for (size_t i = 0; i < TUNE_STEPS; i++) {
		uint64_t t = tune_ladder__threshold(i);
		uint64_t above = (uint64_t)(n * pow((double)from / (double)t, slope));

		steps[i] = (struct tune_step){ t, above, above };
	}
}

static void steps_are_round_numbers(void **state)
{
	assert_int_equal(tune_ladder__threshold(0), 10000);
	assert_int_equal(tune_ladder__threshold(4), 70000);
	assert_int_equal(tune_ladder__threshold(5), 100000);
	assert_int_equal(tune_ladder__threshold(TUNE_STEPS - 1), 70 * NSEC_PER_SEC);
	for (size_t i = 1; i < TUNE_STEPS; i++)
		assert_true(tune_ladder__threshold(i) > tune_ladder__threshold(i - 1));
}

static void percents_rise(void **state)
{
	assert_int_equal(tune_ladder__percent(0), 1);
	assert_int_equal(tune_ladder__percent(TUNE_STEPS - 1), 1000);
	for (size_t i = 1; i < TUNE_STEPS; i++)
		assert_true(tune_ladder__percent(i) > tune_ladder__percent(i - 1));
}

/* The tail is not extrapolated. At best, the answer is a threshold that nothing exceeded. */
static void a_share_is_bounded(void **state)
{
	struct tune_step steps[TUNE_STEPS] = { { 0 } };
	uint64_t ns;

	for (size_t i = 0; i < TUNE_STEPS; i++)
		steps[i] = (struct tune_step){ 10 * (i + 1), 100 - 5 * i, i < 9 ? 9 - i : 0 };
	assert_int_equal(tune_ladder__find_share(steps, NSEC_PER_SEC, 20, &ns), TUNE_UNSEEN);
	assert_int_equal(ns, 100);
	assert_int_equal(tune_ladder__find_share(steps, DAY, 5, &ns), TUNE_MEASURED);
	assert_int_equal(ns, 50);
	for (size_t i = 0; i < TUNE_STEPS; i++)
		steps[i].fired = 2;
	assert_int_equal(tune_ladder__find_share(steps, NSEC_PER_SEC, 20, &ns), TUNE_UNKNOWN);
	assert_int_equal(ns, 0);
}

/*
 * A day was measured. The answer is the lowest step with few enough incidents, whatever the number
 * of values.
 */
static void a_day_is_measured(void **state)
{
	struct tune_step steps[TUNE_STEPS];
	uint64_t ns;

	fill(steps, 100, NSEC_PER_MSEC,
	     1); /* 100 above 1 ms, 20 above 5 ms, 5 above 20, 1 above 100 */
	for (size_t i = 0; i < TUNE_STEPS; i++)
		steps[i].matched *= 1000;
	assert_int_equal(tune_ladder__find(steps, DAY, 20, &ns), TUNE_MEASURED);
	assert_int_equal(ns, 5 * NSEC_PER_MSEC);
	assert_int_equal(tune_ladder__find(steps, DAY, 5, &ns), TUNE_MEASURED);
	assert_int_equal(ns, 20 * NSEC_PER_MSEC);
	assert_int_equal(tune_ladder__find(steps, DAY, 1, &ns), TUNE_MEASURED);
	assert_in_range(ns, 70 * NSEC_PER_MSEC, 100 * NSEC_PER_MSEC);
}

/*
 * A tenth of a day was measured: enough for 20 a day, but not for 5 or 1. A steep tail is
 * extrapolated closely enough.
 */
static void the_tail_is_extrapolated(void **state)
{
	struct tune_step steps[TUNE_STEPS];
	uint64_t ns;

	fill(steps, 1000, NSEC_PER_MSEC,
	     3); /* 1 in that time, 10 a day, above 10 ms; 1 a day above 21.5 */
	assert_int_equal(tune_ladder__find(steps, DAY / 10, 20, &ns), TUNE_MEASURED);
	assert_in_range(ns, 7 * NSEC_PER_MSEC, 10 * NSEC_PER_MSEC);
	assert_int_equal(tune_ladder__find(steps, DAY / 10, 1, &ns), TUNE_EXTENDED);
	assert_in_range(ns, 20 * NSEC_PER_MSEC, 30 * NSEC_PER_MSEC);
}

static void what_is_far_beyond_is_not_known(void **state)
{
	struct tune_step steps[TUNE_STEPS];
	uint64_t ns;

	fill(steps, 1000, NSEC_PER_MSEC, 1);
	assert_int_equal(tune_ladder__find(steps, NSEC_PER_SEC, 1, &ns), TUNE_UNKNOWN);
	assert_int_equal(ns, 0);
	fill(steps, 0, NSEC_PER_MSEC, 1);
	assert_int_equal(tune_ladder__find(steps, NSEC_PER_SEC, 20, &ns), TUNE_UNKNOWN);
	/* nothing in a whole day: the lowest threshold is not exceeded either */
	assert_int_equal(tune_ladder__find(steps, DAY, 1, &ns), TUNE_MEASURED);
	assert_int_equal(ns, tune_ladder__threshold(0));
	/* all values are above the last step */
	for (size_t i = 0; i < TUNE_STEPS; i++)
		steps[i].matched = steps[i].fired = 100;
	assert_int_equal(tune_ladder__find(steps, DAY, 20, &ns), TUNE_UNKNOWN);
	assert_int_equal(tune_ladder__find(steps, 1, 20, &ns), TUNE_UNKNOWN);
	assert_int_equal(tune_ladder__find(steps, 0, 20, &ns), TUNE_UNKNOWN);
}

static void enough_time_means_three_incidents(void **state)
{
	assert_int_equal(tune_ladder__enough(1), 3 * DAY);
	assert_int_equal(tune_ladder__enough(20), 3 * DAY / 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_are_round_numbers),
		cmocka_unit_test(percents_rise),
		cmocka_unit_test(a_share_is_bounded),
		cmocka_unit_test(a_day_is_measured),
		cmocka_unit_test(the_tail_is_extrapolated),
		cmocka_unit_test(what_is_far_beyond_is_not_known),
		cmocka_unit_test(enough_time_means_three_incidents),
	};

	return cmocka_run_group_tests_name("tune_ladder", tests, NULL, NULL);
}
