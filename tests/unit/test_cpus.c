// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/cpus.h"

static void check(const char *list, size_t n, const int *want)
{
	int *v = NULL;
	size_t got = 0;

	assert_int_equal(cpus__parse(list, &v, &got), 0);
	assert_int_equal(got, n);
	assert_memory_equal(v, want, n * sizeof(*want));
	free(v);
}

static void test_lists(void **state)
{
	check("0", 1, (int[]){ 0 });
	check("0\n", 1, (int[]){ 0 });
	check("0-3\n", 4, (int[]){ 0, 1, 2, 3 });
	check("0,2-5\n", 5, (int[]){ 0, 2, 3, 4, 5 });
	check("1-1,3", 2, (int[]){ 1, 3 });
	check("65535", 1, (int[]){ 65535 });
}

static void test_large(void **state)
{
	int *v;
	size_t n;

	assert_int_equal(cpus__parse("0-65535\n", &v, &n), 0);
	assert_int_equal(n, 65536);
	for (int i = 0; i < 65536; i++)
		assert_int_equal(v[i], i);
	free(v);
}

static void test_nonsense(void **state)
{
	static const char *const bad[] = {
		"",	   "\n",
		" 0",	   "0 ",
		"-1",	   "a",
		"0,",	   ",0",
		"0-",	   "0--1",
		"3-1",	   "0-1-2",
		"0,,1",	   "2,1",
		"1,1",	   "0-3,3",
		"0-1,0",   "0x1",
		"+1",	   "65536",
		"0-65536", "99999999999999999999",
		"0;1",	   "0-3 5",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int *v = (int *)&i;
		size_t n = 42;

		if (cpus__parse(bad[i], &v, &n) != -EINVAL)
			fail_msg("'%s' was taken", bad[i]);
		assert_ptr_equal(v, &i);
		assert_int_equal(n, 42);
	}
}

static void test_online(void **state)
{
	int *v;
	size_t n;

	assert_int_equal(cpus__online(&v, &n), 0);
	assert_int_equal(n, sysconf(_SC_NPROCESSORS_ONLN));
	for (size_t i = 1; i < n; i++)
		assert_true(v[i - 1] < v[i]);
	free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_online),
	};

	return cmocka_run_group_tests_name("cpus", tests, NULL, NULL);
}
