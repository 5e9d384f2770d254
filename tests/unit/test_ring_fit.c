// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "daemon/ring_fit.h"
#include "rules/units.h"

static void size_holds_the_time_and_a_quarter_more(void **state)
{
	assert_int_equal(ring_fit__size(0, 5 * NSEC_PER_SEC, 4096), 4096);
	assert_int_equal(ring_fit__size(1000, 5 * NSEC_PER_SEC, 4096), 8192); /* 6250 bytes */
	assert_int_equal(ring_fit__size(1 << 20, 5 * NSEC_PER_SEC, 4096), 8 << 20);
	assert_int_equal(ring_fit__size(1 << 20, NSEC_PER_SEC / 10, 4096), 128 << 10);
	assert_int_equal(ring_fit__size(1, 1, 64 << 10), 64 << 10);
	/* no overflow, however fast */
	assert_true(ring_fit__size(UINT64_MAX, 3600 * NSEC_PER_SEC, 4096) >= 1ULL << 40);
}

static void size_stays_within_max_memory(void **state)
{
	/* ring and copy on 2 CPUs: four times the ring */
	assert_int_equal(ring_fit__within(8 << 20, 1 << 20, 2, 0, 32 << 20), 8 << 20);
	assert_int_equal(ring_fit__within(8 << 20, 1 << 20, 2, 1, 32 << 20), 4 << 20);
	assert_int_equal(ring_fit__within(8 << 20, 1 << 20, 2, 27 << 20, 32 << 20), 1 << 20);
	assert_int_equal(ring_fit__within(8 << 20, 1 << 20, 2, 29 << 20, 32 << 20), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(size_holds_the_time_and_a_quarter_more),
		cmocka_unit_test(size_stays_within_max_memory),
	};

	return cmocka_run_group_tests_name("ring_fit", tests, NULL, NULL);
}
