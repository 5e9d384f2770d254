// SPDX-License-Identifier: GPL-2.0-only
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "dump/rings/ring_history.h"

#define SIZE 4096 /* of a ring, bytes */

static void gap_found(const struct gap_log *g, uint64_t time, uint64_t paused, uint64_t resumed)
{
	uint64_t from = 0, to = 0;

	assert_true(gap_log__find(g, time, &from, &to));
	assert_int_equal(from, paused);
	assert_int_equal(to, resumed);
}

static void no_gap_found(const struct gap_log *g, uint64_t time)
{
	uint64_t from = 1, to = 2;

	assert_false(gap_log__find(g, time, &from, &to));
	assert_int_equal(from, 1);
	assert_int_equal(to, 2);
}

static void test_gaps_empty(void **state)
{
	struct gap_log g = { 0 };

	no_gap_found(&g, 0);
	no_gap_found(&g, UINT64_MAX);
}

static void test_gaps_the_last_before(void **state)
{
	struct gap_log g = { 0 };

	gap_log__add(&g, 100, 110);
	gap_log__add(&g, 200, 220);
	no_gap_found(&g, 99);
	gap_found(&g, 110, 100, 110);
	gap_found(&g, 150, 100, 110);
	gap_found(&g, 199, 100, 110);
	gap_found(&g, 220, 200, 220);
	gap_found(&g, UINT64_MAX, 200, 220);
}

/*
 * A ring takes records again before the time of its end is read. Its LOST record lies between the
 * two.
 */
static void test_gaps_just_resumed(void **state)
{
	struct gap_log g = { 0 };

	gap_log__add(&g, 100, 110);
	gap_found(&g, 109, 100, 110);
	gap_log__add(&g, 200, 220);
	gap_found(&g, 219, 200, 220);
}

static void test_gaps_full(void **state)
{
	struct gap_log g = { 0 };
	uint64_t i;

	for (i = 1; i <= GAP_LOG_SIZE; i++)
		gap_log__add(&g, i * 10, i * 10 + 1);
	gap_found(&g, 11, 10, 11);
	for (; i <= GAP_LOG_SIZE * 5 / 2; i++)
		gap_log__add(&g, i * 10, i * 10 + 1);
	for (uint64_t k = i - GAP_LOG_SIZE; k < i; k++)
		gap_found(&g, k * 10 + 5, k * 10, k * 10 + 1);
	no_gap_found(&g, (i - GAP_LOG_SIZE) * 10 - 1); /* forgotten */
}

static void test_laps_young(void **state)
{
	struct ring_laps l = { 0 };

	assert_int_equal(ring_laps__note(&l, 10, 0, SIZE), 0);
	assert_int_equal(ring_laps__note(&l, 20, SIZE - 1, SIZE), 0);
	/* it is full now, and all of it was written after 10 */
	assert_int_equal(ring_laps__note(&l, 30, SIZE, SIZE), 10);
}

static void test_several_laps_at_once(void **state)
{
	struct ring_laps l = { 0 };

	ring_laps__note(&l, 10, 100, SIZE);
	ring_laps__note(&l, 20, 2000, SIZE);
	assert_int_equal(ring_laps__note(&l, 30, 100 + 9 * SIZE, SIZE), 20);
	assert_int_equal(ring_laps__note(&l, 40, 100 + 10 * SIZE, SIZE), 30);
}

static void test_laps_silence(void **state)
{
	struct ring_laps l = { 0 };
	uint64_t i;

	ring_laps__note(&l, 10, 0, SIZE);
	assert_int_equal(ring_laps__note(&l, 20, 5 * SIZE, SIZE), 10);
	for (i = 0; i < 1000; i++) /* old notes stay; new ones must not displace them */
		assert_int_equal(ring_laps__note(&l, 30 + i, 5 * SIZE, SIZE), 10);
	assert_int_equal(ring_laps__note(&l, 2000, 6 * SIZE, SIZE), 20);
}

/*
 * Compares the result with a ring whose bytes are all known. It must never be later than the oldest
 * byte, and not much earlier.
 */
static void test_laps_against_model(void **state)
{
	enum { STEPS = 20000 };
	static uint64_t time_of[STEPS * 1100];
	struct ring_laps l = { 0 };
	uint64_t written = 0, from, i, now, oldest, allowed;
	uint32_t seed = 12345;
	size_t j, n, most = 0;

	for (now = 1; now <= STEPS; now++) {
		seed = seed * 1664525 + 1013904223;
		n = seed >> 28 ? (seed >> 16) % 300 : (seed >> 16) % 1100;
		for (j = 0; j < n; j++)
			time_of[written++] = now;
		from = ring_laps__note(&l, now, written, SIZE);
		assert_in_range(l.n, 1, RING_LAPS_NOTES);
		most = l.n > most ? l.n : most;
		if (written <= SIZE) {
			assert_true(from <= 1);
			continue;
		}
		oldest = time_of[written - SIZE];
		assert_true(from <= oldest);
		/* a quarter of a ring, and what two steps wrote before the oldest byte */
		i = written - SIZE;
		i = i > SIZE / 4 + 2200 ? i - SIZE / 4 - 2200 : 0;
		allowed = time_of[i];
		assert_true(from + 1 >= allowed);
	}
	assert_true(most >= 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gaps_empty),
		cmocka_unit_test(test_gaps_the_last_before),
		cmocka_unit_test(test_gaps_just_resumed),
		cmocka_unit_test(test_gaps_full),
		cmocka_unit_test(test_laps_young),
		cmocka_unit_test(test_several_laps_at_once),
		cmocka_unit_test(test_laps_silence),
		cmocka_unit_test(test_laps_against_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
