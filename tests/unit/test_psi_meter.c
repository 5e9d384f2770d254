// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/proc_file.h"
#include "detect/psi_meter.h"
#include "rules/target.h"

#define MS  1000000ULL
#define SEC (1000 * MS)

static void totals(void **state)
{
	static const char text[] =
		"some avg10=1.00 avg60=0.20 avg300=0.04 total=123456\n"
		"full avg10=0.00 avg60=0.00 avg300=0.00 total=18446744073709551615\n";
	uint64_t total = 5;

	assert_int_equal(proc_file__pressure(text, "some", &total), 0);
	assert_int_equal(total, 123456);
	assert_int_equal(proc_file__pressure(text, "full", &total), 0);
	assert_true(total == UINT64_MAX);
	assert_int_equal(proc_file__pressure(text, "ful", &total), -EPROTO);
	assert_int_equal(proc_file__pressure("some avg10=1\nfull total=7\n", "some", &total),
			 -EPROTO);
	assert_int_equal(proc_file__pressure("", "some", &total), -EPROTO);
	assert_int_equal(proc_file__pressure("full total=x\n", "full", &total), -EPROTO);
	assert_true(total == UINT64_MAX);
}

static struct psi_meter meter(const uint64_t (*v)[2], size_t n) /* ms, ms */
{
	struct psi_meter m = { .n = 0 };

	for (size_t i = 0; i < n; i++)
		psi_meter__add(&m, v[i][0] * MS, v[i][1] * 1000);
	return m;
}

#define STALL(least, ...)                                                                          \
	({                                                                                         \
		const uint64_t _v[][2] = { __VA_ARGS__ };                                          \
		struct psi_meter _m = meter(_v, ARRAY_SIZE(_v));                       \
		(int)(psi_meter__stall(&_m, 2 * SEC, (least)*MS) / MS);                            \
	})

static void stalls(void **state)
{
	/* the first pressure in a long time */
	assert_int_equal(STALL(150, { 1000, 5000 }, { 90000, 5180 }), 180);
	/* the same, with a reading when the pressure began */
	assert_int_equal(STALL(150, { 1000, 5000 }, { 89900, 5020 }, { 90000, 5180 }), 180);
	/* the pressure continues: half of the growth between the readings is in the window */
	assert_int_equal(
		STALL(150, { 1000, 5000 }, { 87000, 6000 }, { 89000, 7000 }, { 90000, 8000 }),
		1500);
	/* a reading at the start of the window */
	assert_int_equal(STALL(150, { 88000, 6000 }, { 90000, 6700 }), 700);
	assert_int_equal(STALL(150, { 87000, 0 }, { 88000, 6000 }, { 90000, 6700 }), 700);
	/* at least what the kernel reported, at most the window */
	assert_int_equal(STALL(150, { 88000, 6000 }, { 90000, 6010 }), 150);
	assert_int_equal(STALL(150, { 1000, 0 }, { 90000, 60000 }), 2000);
	/* one reading */
	assert_int_equal(STALL(150, { 90000, 60000 }), 150);
	/* less than a window after boot */
	assert_int_equal(STALL(150, { 100, 0 }, { 900, 300 }), 300);
}

static void forgets_the_oldest(void **state)
{
	struct psi_meter m = { .n = 0 };

	for (uint64_t i = 0; i < 3 * PSI_METER_READINGS; i++)
		psi_meter__add(&m, i * 1000 * MS, i * 100000);
	assert_int_equal(m.n, PSI_METER_READINGS);
	assert_int_equal(psi_meter__stall(&m, 2 * SEC, 1) / MS, 200);
}

/* The growth since a reading that is at least that old: no less than the stall of the window. */
static void at_most(void **state)
{
	struct psi_meter m = { 0 };

	assert_int_equal(psi_meter__stall_at_most(&m, SEC), UINT64_MAX);
	psi_meter__add(&m, 10 * SEC, 1000);
	psi_meter__add(&m, 11 * SEC, 3000);
	assert_int_equal(psi_meter__stall_at_most(&m, 2 * SEC), UINT64_MAX);
	psi_meter__add(&m, 12 * SEC, 7000);
	assert_int_equal(psi_meter__stall_at_most(&m, 2 * SEC), 6 * MS);
	assert_int_equal(psi_meter__stall_at_most(&m, 1500 * MS), 6 * MS);
	assert_int_equal(psi_meter__stall_at_most(&m, SEC), 4 * MS);
}

static void targets(void **state)
{
	static const struct psi_target cases[] = {
		{ "memory", "some", 150000, 2000000, "" },
		{ "cpu", "full", 1, 500000, "/a b/ of c" },
	};
	struct psi_target t;

	for (size_t i = 0; i < 2; i++) {
		char *text = psi_target__format(&cases[i]);

		assert_non_null(text);
		assert_int_equal(psi_target__parse(text, &t), 0);
		assert_string_equal(t.resource, cases[i].resource);
		assert_string_equal(t.kind, cases[i].kind);
		assert_int_equal(t.threshold_us, cases[i].threshold_us);
		assert_int_equal(t.window_us, cases[i].window_us);
		assert_string_equal(t.cgroup, cases[i].cgroup);
		free(text);
	}
	assert_int_equal(psi_target__parse("memory some", &t), -EINVAL);
	assert_int_equal(psi_target__parse("", &t), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals),
		cmocka_unit_test(stalls),
		cmocka_unit_test(forgets_the_oldest),
		cmocka_unit_test(at_most),
		cmocka_unit_test(targets),
	};

	return cmocka_run_group_tests_name("psi_meter", tests, NULL, NULL);
}
