// SPDX-License-Identifier: GPL-2.0-only
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "dump/rings/gap_log.h"

static void check(const struct gap_log *g, uint64_t time, uint64_t paused, uint64_t resumed)
{
	uint64_t from = 0, to = 0;

	assert_true(gap_log__find(g, time, &from, &to));
	assert_int_equal(from, paused);
	assert_int_equal(to, resumed);
}

static void check_none(const struct gap_log *g, uint64_t time)
{
	uint64_t from = 1, to = 2;

	assert_false(gap_log__find(g, time, &from, &to));
	assert_int_equal(from, 1);
	assert_int_equal(to, 2);
}

static void test_empty(void **state)
{
	struct gap_log g = { 0 };

	check_none(&g, 0);
	check_none(&g, UINT64_MAX);
}

static void test_the_last_before(void **state)
{
	struct gap_log g = { 0 };

	gap_log__add(&g, 100, 110);
	gap_log__add(&g, 200, 220);
	check_none(&g, 99);
	check(&g, 110, 100, 110);
	check(&g, 150, 100, 110);
	check(&g, 199, 100, 110);
	check(&g, 220, 200, 220);
	check(&g, UINT64_MAX, 200, 220);
}

/*
 * A ring takes records again before the time of its end is read. Its LOST record lies between the
 * two.
 */
static void test_just_resumed(void **state)
{
	struct gap_log g = { 0 };

	gap_log__add(&g, 100, 110);
	check(&g, 109, 100, 110);
	gap_log__add(&g, 200, 220);
	check(&g, 219, 200, 220);
}

static void test_full(void **state)
{
	struct gap_log g = { 0 };
	uint64_t i;

	for (i = 1; i <= GAP_LOG_SIZE; i++)
		gap_log__add(&g, i * 10, i * 10 + 1);
	check(&g, 11, 10, 11);
	for (; i <= GAP_LOG_SIZE * 5 / 2; i++)
		gap_log__add(&g, i * 10, i * 10 + 1);
	for (uint64_t k = i - GAP_LOG_SIZE; k < i; k++)
		check(&g, k * 10 + 5, k * 10, k * 10 + 1);
	check_none(&g, (i - GAP_LOG_SIZE) * 10 - 1); /* forgotten */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_the_last_before),
		cmocka_unit_test(test_just_resumed),
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests_name("gap_log", tests, NULL, NULL);
}
