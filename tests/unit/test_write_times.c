// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "detect/write_times.h"

static void test_within(void **state)
{
	struct write_times w = { .lock = PTHREAD_MUTEX_INITIALIZER };

	assert_int_equal(write_times__within(&w, 0, 1000), 0);
	write_times__note(&w, false, 50);
	assert_int_equal(write_times__within(&w, 0, 1000), 0);
	write_times__note(&w, true, 100);
	write_times__note(&w, true, 150); /* a second dump meanwhile */
	assert_int_equal(write_times__within(&w, 0, 90), 0);
	assert_int_equal(write_times__within(&w, 0, 400), 300);
	assert_int_equal(write_times__within(&w, 300, 400), 100);
	write_times__note(&w, false, 200);
	write_times__note(&w, false, 250);
	assert_int_equal(write_times__within(&w, 0, 400), 100);
	write_times__note(&w, true, 300);
	write_times__note(&w, false, 310);
	assert_int_equal(write_times__within(&w, 150, 305), 55);
	assert_int_equal(write_times__within(&w, 200, 300), 0);
	assert_int_equal(write_times__within(&w, 310, 200), 0);
}

/* With too many entries, the result is never less than what was written. */
static void test_many(void **state)
{
	const uint64_t n = 3 * WRITE_TIMES_MAX;
	struct write_times w = { .lock = PTHREAD_MUTEX_INITIALIZER };
	uint64_t room = WRITE_TIMES_MAX - 1;

	for (uint64_t i = 0; i < n; i++) {
		write_times__note(&w, true, 100 * i);
		write_times__note(&w, false, 100 * i + 10);
	}
	assert_int_equal(write_times__within(&w, 100 * (n - room), UINT64_MAX), 10 * room);
	assert_in_range(write_times__within(&w, 0, UINT64_MAX), 10 * n, 100 * n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_within),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
