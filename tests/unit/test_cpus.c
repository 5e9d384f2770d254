// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPU lists, and the CPUs that are online.
 * with: others
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <cmocka.h>

#include "admin/admin.h"
#include "common/cleanup.h"
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

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
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

static bool is_change(const char *message, size_t len)
{
	return cpu_watch__is_change(message, len);
}

#define IS_CHANGE(text) is_change(text, sizeof(text)) /* with its last NUL */

static void test_messages(void **state)
{
	assert_true(IS_CHANGE("offline@/devices/system/cpu/cpu1\0ACTION=offline\0"
			      "DEVPATH=/devices/system/cpu/cpu1\0SUBSYSTEM=cpu\0SEQNUM=7"));
	assert_true(IS_CHANGE("online@/devices/system/cpu/cpu1\0ACTION=online\0SUBSYSTEM=cpu"));
	assert_false(IS_CHANGE("add@/devices/system/cpu/cpu1\0ACTION=add\0SUBSYSTEM=cpu"));
	assert_false(IS_CHANGE("online@/devices/x\0ACTION=online\0SUBSYSTEM=cpufreq"));
	assert_false(IS_CHANGE("online@/devices/system/memory/memory1\0ACTION=online\0"
			       "SUBSYSTEM=memory"));
	/* truncated, without a final NUL, empty */
	assert_false(is_change("ACTION=online\0SUBSYSTEM=cpu", 27));
	assert_false(is_change("", 0));
}

/* Without a change nothing is reported. */
static void test_comparing(void **state)
{
	struct cpu_watch *w;

	assert_int_equal(cpu_watch__open(&w), 0);
	cpu_watch__read(w);
	cpu_watch__compare(w);
	cpu_watch__compare(w);
	assert_false(cpu_watch__read(w));
	cpu_watch__free(w);
}

static void test_pulse(void **state)
{
	uint64_t ns;
	int fd = admin__open_event(&cpu_pulse_attr, -1, 0, 0);

	if (fd < 0)
		skip();
	assert_true(cpu_pulse__is_alive(fd, &ns));
	assert_int_equal(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), 0); /* its time stands still */
	assert_false(cpu_pulse__is_alive(fd, &ns));
	assert_true(ns > 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),	 cmocka_unit_test(test_large),
		cmocka_unit_test(test_nonsense), cmocka_unit_test(test_online),
		cmocka_unit_test(test_messages), cmocka_unit_test(test_comparing),
		cmocka_unit_test(test_pulse),
	};

	return cmocka_run_group_tests_name("cpus", tests, NULL, NULL);
}
