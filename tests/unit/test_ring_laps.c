// SPDX-License-Identifier: GPL-2.0-only
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "dump/rings/ring_laps.h"

#define SIZE 4096

static void test_young(void **state)
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

static void test_silence(void **state)
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
static void test_against_model(void **state)
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
		cmocka_unit_test(test_young),
		cmocka_unit_test(test_several_laps_at_once),
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_against_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
