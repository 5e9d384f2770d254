// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "rules/units.h"

#define UNTOUCHED 4711

static void durations(void **state)
{
	static const struct {
		const char *text;
		int err;
		uint64_t ns;
	} cases[] = {
		{ "0", 0, 0 },
		{ "0.0", 0, 0 },
		{ "0ms", 0, 0 },
		{ "1ns", 0, 1 },
		{ "7us", 0, 7000 },
		{ "20ms", 0, 20 * NSEC_PER_MSEC },
		{ "1.5s", 0, 1500 * NSEC_PER_MSEC },
		{ "0.000000001s", 0, 1 },
		{ "1.50000000000s", 0, 1500 * NSEC_PER_MSEC },
		{ "2m", 0, 120 * NSEC_PER_SEC },
		{ "1h", 0, 3600 * NSEC_PER_SEC },
		{ "14d", 0, 14 * 86400 * NSEC_PER_SEC },
		{ "18446744073709551615ns", 0, UINT64_MAX },
		{ "18446744073709551616ns", -ERANGE, 0 },
		{ "18446744073709552s", -ERANGE, 0 },
		{ "99999999999999999999999999d", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "20", -EINVAL, 0 },
		{ "0.5", -EINVAL, 0 },
		{ "0.5ns", -EINVAL, 0 },
		{ "1.", -EINVAL, 0 },
		{ "1.s", -EINVAL, 0 },
		{ ".5s", -EINVAL, 0 },
		{ "-5ms", -EINVAL, 0 },
		{ "+5ms", -EINVAL, 0 },
		{ " 5ms", -EINVAL, 0 },
		{ "5 ms", -EINVAL, 0 },
		{ "5MS", -EINVAL, 0 },
		{ "5msx", -EINVAL, 0 },
		{ "ms", -EINVAL, 0 },
		{ "0x10ms", -EINVAL, 0 },
		{ "1.0000000000000000000s", -EINVAL, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t ns = UNTOUCHED;
		const char *why = NULL;
		int err = units__duration(cases[i].text, strlen(cases[i].text), &ns, &why);

		if (err != cases[i].err || ns != (err ? UNTOUCHED : cases[i].ns) || (err && !why))
			fail_msg("'%s': %d, %llu", cases[i].text, err, (unsigned long long)ns);
	}
}

static void length_is_exact(void **state)
{
	const char *why;
	uint64_t ns;

	assert_int_equal(units__duration("20msX", 4, &ns, &why), 0);
	assert_int_equal(ns, 20 * NSEC_PER_MSEC);
	assert_int_equal(units__duration("20msX", 3, &ns, &why), 0);
	assert_int_equal(ns, 1200 * NSEC_PER_SEC);
}

static void reasons_can_be_told_apart(void **state)
{
	const char *why = NULL;
	uint64_t ns;

	units__duration("20mss", 5, &ns, &why);
	assert_ptr_equal(why, units_unknown);
	units__duration("20", 2, &ns, &why);
	assert_non_null(strstr(why, "unit is missing"));
	units__duration("20 ms", 5, &ns, &why);
	assert_non_null(strstr(why, "blank"));
}

static void sizes(void **state)
{
	static const struct {
		const char *text;
		int err;
		uint64_t bytes;
	} cases[] = {
		{ "0", 0, 0 },
		{ "4096", 0, 4096 },
		{ "1B", 0, 1 },
		{ "512K", 0, 512 << 10 },
		{ "10M", 0, 10 << 20 },
		{ "10m", 0, 10 << 20 },
		{ "1.5G", 0, 3ULL << 29 },
		{ "17179869183G", 0, 17179869183ULL << 30 },
		{ "17179869184G", -ERANGE, 0 },
		{ "0.3B", -EINVAL, 0 },
		{ "5T", -EINVAL, 0 },
		{ "10MB", -EINVAL, 0 },
		{ "M", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		/* with 1000 bytes as the whole */
		{ "5%", 0, 50 },
		{ "100%", 0, 1000 },
		{ "0.1%", 0, 1 },
		{ "0%", 0, 0 },
		{ "100.1%", -ERANGE, 0 },
		{ "%", -EINVAL, 0 },
		{ "5K%", -EINVAL, 0 },
		{ "-1%", -EINVAL, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t bytes = UNTOUCHED;
		const char *why = NULL;
		int err = units__size_or_percent(cases[i].text, strlen(cases[i].text), 1000, &bytes,
						 &why);

		if (err != cases[i].err || bytes != (err ? UNTOUCHED : cases[i].bytes) ||
		    (err && !why))
			fail_msg("'%s': %d, %llu", cases[i].text, err, (unsigned long long)bytes);
	}
}

static void percent_of_much(void **state)
{
	const char *why;
	uint64_t bytes;

	assert_int_equal(units__size_or_percent("50%", 3, UINT64_MAX, &bytes, &why), 0);
	assert_true(bytes == UINT64_MAX / 2);
	assert_int_equal(units__size("5%", 2, &bytes, &why), -EINVAL);
}

static void numbers(void **state)
{
	static const struct {
		const char *text;
		int err;
		uint64_t value;
	} cases[] = {
		{ "0", 0, 0 },
		{ "42", 0, 42 },
		{ "010", 0, 10 },
		{ "0x10", 0, 16 },
		{ "0XfF", 0, 255 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "0xffffffffffffffff", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "0x10000000000000000", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "0x", -EINVAL, 0 },
		{ "12x", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "1f", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t value = UNTOUCHED;
		const char *why = NULL;
		int err = units__number(cases[i].text, strlen(cases[i].text), &value, &why);

		if (err != cases[i].err || value != (err ? UNTOUCHED : cases[i].value) ||
		    (err && !why))
			fail_msg("'%s': %d, %llu", cases[i].text, err, (unsigned long long)value);
	}
}

static void durations_for_people(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{ 0, "0ns" },
		{ 1, "1ns" },
		{ 999, "999ns" },
		{ 7000, "7us" },
		{ 999999, "1ms" },
		{ 999949, "999.9us" },
		{ 25300000, "25.3ms" },
		{ 25318765, "25.32ms" },
		{ 812000000, "812ms" },
		{ 1000000000, "1s" },
		{ 1500000000, "1.5s" },
		{ 59999900000, "60s" },
		{ 60 * NSEC_PER_SEC, "1m" },
		{ 90 * NSEC_PER_SEC, "90s" },
		{ 600 * NSEC_PER_SEC, "10m" },
		{ 7200 * NSEC_PER_SEC, "2h" },
		{ 7201 * NSEC_PER_SEC, "2h" },
		{ 86400 * NSEC_PER_SEC, "1d" },
		{ 365 * 86400 * NSEC_PER_SEC, "365d" },
		{ 12345 * NSEC_PER_SEC, "3.429h" },
		{ UINT64_MAX, "213504d" },
	};
	char buf[32];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_ptr_equal(units__format_duration(cases[i].ns, buf, sizeof(buf)), buf);
		assert_string_equal(buf, cases[i].text);
	}
}

static void sizes_for_people(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} cases[] = {
		{ 0, "0B" },
		{ 1023, "1023B" },
		{ 1024, "1K" },
		{ 1536, "1.5K" },
		{ 512 << 10, "512K" },
		{ (1 << 20) - 1, "1M" },
		{ 16 << 20, "16M" },
		{ 3328599654ULL, "3.1G" },
		{ 5ULL << 40, "5120G" },
		{ UINT64_MAX, "17179869184G" },
	};
	char buf[32];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		units__format_size(cases[i].bytes, buf, sizeof(buf));
		assert_string_equal(buf, cases[i].text);
	}
}

/* Formatted values can be parsed again, and differ by no more than four digits allow. */
static void formats_parse_back(void **state)
{
	uint64_t seed = 1;

	for (int i = 0; i < 100000; i++) {
		uint64_t ns, back;
		const char *why;
		char buf[32];

		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		ns = (seed >> 2) >> (seed % 60);
		units__format_duration(ns, buf, sizeof(buf));
		assert_int_equal(units__duration(buf, strlen(buf), &back, &why), 0);
		if ((back > ns ? back - ns : ns - back) > ns / 1999 + 1)
			fail_msg("%llu: %s", (unsigned long long)ns, buf);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations),
		cmocka_unit_test(length_is_exact),
		cmocka_unit_test(reasons_can_be_told_apart),
		cmocka_unit_test(sizes),
		cmocka_unit_test(percent_of_much),
		cmocka_unit_test(numbers),
		cmocka_unit_test(durations_for_people),
		cmocka_unit_test(sizes_for_people),
		cmocka_unit_test(formats_parse_back),
	};

	return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
