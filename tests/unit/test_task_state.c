// SPDX-License-Identifier: GPL-2.0-only
/* Facts about the subject of a trigger, and the limits that apply to it. Needs no root. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/proc_file.h"
#include "dump/state/task_state.h"
#include "temp_tree.h"

static struct examiner *examiner;

static const struct cgroup_roots no_roots = { .fd = { -1, -1, -1, -1 } };

/* ---- texts of the kernel ---- */

static void numbers_of_lines(void **state)
{
	uint64_t v = 7;

	assert_true(proc_file__number("nr_periods 3\nnr_throttled 2\n", "nr_throttled", &v));
	assert_int_equal(v, 2);
	assert_false(proc_file__number("nr_periods 3\n", "nr", &v));
	assert_false(proc_file__number("xnr 3\n", "nr", &v));
	assert_true(proc_file__number("4096\n", "", &v));
	assert_int_equal(v, 4096);
	assert_false(proc_file__number("max\n", "", &v));
	assert_false(proc_file__number("", "", &v));
	assert_false(proc_file__number("99999999999999999999\n", "", &v));
	assert_int_equal(v, 4096);
}

static void quotas(void **state)
{
	uint64_t quota = 1, period = 1;

	assert_false(cgroup_state__quota("max 100000\n", &quota, &period));
	assert_false(cgroup_state__quota("", &quota, &period));
	assert_false(cgroup_state__quota("5 0\n", &quota, &period));
	assert_false(cgroup_state__quota("18446744073709551615 5\n", &quota, &period));
	assert_int_equal(quota, 1);
	assert_true(cgroup_state__quota("10000 100000\n", &quota, &period));
	assert_int_equal(quota, 10000000);
	assert_int_equal(period, 100000000);
}

static void pressures(void **state)
{
	json_t *o = cgroup_state__pressure("some avg10=1.50 avg60=0.00 avg300=0.00 total=12\n"
					   "full avg10=0.25 avg60=0.00 avg300=0.00 total=3\n");

	assert_non_null(o);
	assert_true(json_real_value(json_object_get(o, "some_avg10")) == 1.5);
	assert_int_equal(json_integer_value(json_object_get(o, "some_ns")), 12000);
	assert_true(json_real_value(json_object_get(o, "full_avg10")) == 0.25);
	assert_int_equal(json_integer_value(json_object_get(o, "full_ns")), 3000);
	json_decref(o);
	assert_null(cgroup_state__pressure("nothing of that"));
	assert_null(cgroup_state__pressure("some "));
}

/* ---- a tree of files like the kernel's ---- */

static char tree[] = "/tmp/frbpf-state-XXXXXX";

static void put(const char *path, const char *text)
{
	char full[512];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", tree, path);
	for (char *slash = strchr(full + strlen(tree) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash = '/';
	}
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static struct cgroup_roots open_tree(const char *v2, const char *cpu)
{
	struct cgroup_roots r = no_roots;
	char full[512];

	snprintf(full, sizeof(full), "%s/%s", tree, v2 ?: cpu);
	r.fd[v2 ? CGROUP_V2 : CGROUP_CPU] = open(full, O_PATH | O_DIRECTORY);
	assert_true(r.fd[v2 ? CGROUP_V2 : CGROUP_CPU] >= 0);
	return r;
}

static json_int_t number(const json_t *o, const char *list, size_t i, const char *key)
{
	return json_integer_value(
		json_object_get(json_array_get(json_object_get(o, list), i), key));
}

static void limits_of_version_2(void **state)
{
	struct cgroup_roots r;
	json_t *o = json_object();

	put("v2/a/b/cpu.max", "max 100000\n");
	put("v2/a/b/cpu.weight", "50\n");
	put("v2/slice/a/b/cpu.weight", "100\n");
	put("v2/slice/a/cpu.weight", "100\n");
	put("v2/slice/a/cpu.max", "max 100000\n");
	put("v2/slice/cpu.weight", "20\n");
	put("v2/a/cpu.max", "20000 100000\n");
	put("v2/a/cpu.stat", "usage_usec 5\nnr_periods 9\nnr_throttled 4\nthrottled_usec 70\n");
	put("v2/a/b/memory.current", "1048576\n");
	put("v2/a/b/memory.max", "max\n");
	put("v2/a/b/memory.high", "2097152\n");
	put("v2/a/b/memory.events", "low 0\nhigh 6\nmax 0\noom 0\noom_kill 1\n");
	put("v2/a/b/io.max", "8:0 rbps=1000 wbps=max riops=max wiops=max\n");
	put("v2/a/b/cpu.pressure", "some avg10=2.00 avg60=0 avg300=0 total=8\n");
	put("outside/cpu.max", "1 100000\n");
	r = open_tree("v2", NULL);
	assert_int_equal(cgroup_state__add(&r, "5:pids:/x\n0::/a/b\n", o), 0);
	assert_string_equal(json_string_value(json_object_get(o, "cgroup")), "/a/b");
	assert_int_equal(json_array_size(json_object_get(o, "cpu")), 2);
	assert_int_equal(number(o, "cpu", 0, "weight"), 50);
	assert_int_equal(number(o, "cpu", 0, "quota_ns"), 0);
	assert_int_equal(number(o, "cpu", 1, "quota_ns"), 20000000);
	assert_int_equal(number(o, "cpu", 1, "throttled"), 4);
	assert_int_equal(number(o, "cpu", 1, "throttled_ns"), 70000);
	assert_int_equal(number(o, "memory", 0, "high"), 2097152);
	assert_int_equal(number(o, "memory", 0, "high_events"), 6);
	assert_int_equal(number(o, "memory", 0, "oom_kills"), 1);
	assert_int_equal(json_array_size(json_object_get(o, "io")), 1);
	assert_non_null(json_object_get(json_object_get(o, "pressure"), "cpu"));
	json_decref(o);
	/* a weight without a quota, two levels above */
	o = json_object();
	assert_int_equal(cgroup_state__add(&r, "0::/slice/a/b\n", o), 0);
	assert_int_equal(json_array_size(json_object_get(o, "cpu")), 2);
	assert_int_equal(number(o, "cpu", 0, "weight"), 100);
	assert_int_equal(number(o, "cpu", 1, "weight"), 20);
	json_decref(o);
	/* nothing outside of the tree, whatever the path contains */
	o = json_object();
	assert_int_equal(cgroup_state__add(&r, "0::/../outside\n", o), 0);
	assert_null(json_object_get(o, "cpu"));
	json_decref(o);
	cgroup_roots__close(&r);
}

static void limits_of_version_1(void **state)
{
	struct cgroup_roots r;
	json_t *o = json_object();

	put("cpu/x/cpu.cfs_quota_us", "10000\n");
	put("cpu/x/cpu.cfs_period_us", "100000\n");
	put("cpu/x/cpu.shares", "1024\n");
	put("cpu/x/cpu.stat", "nr_periods 2\nnr_throttled 1\nthrottled_time 90\n");
	put("cpu/cpu.cfs_quota_us", "-1\n");
	put("cpu/y/cpu.shares", "512\n");
	put("cpu/y/z/cpu.shares", "1024\n");
	put("cpu/cpu.shares", "1024\n");
	put("cpu/cpu.cfs_period_us", "100000\n");
	r = open_tree(NULL, "cpu");
	assert_int_equal(cgroup_state__add(&r, "4:cpu,cpuacct:/x\n", o), 0);
	assert_int_equal(json_array_size(json_object_get(o, "cpu")), 1);
	assert_int_equal(number(o, "cpu", 0, "quota_ns"), 10000000);
	assert_int_equal(number(o, "cpu", 0, "throttled_ns"), 90);
	assert_int_equal(number(o, "cpu", 0, "shares"), 1024);
	assert_null(json_object_get(o, "cgroup"));
	json_decref(o);
	o = json_object();
	assert_int_equal(cgroup_state__add(&r, "4:cpu,cpuacct:/y/z\n", o), 0);
	assert_int_equal(json_array_size(json_object_get(o, "cpu")), 2);
	assert_int_equal(number(o, "cpu", 1, "shares"), 512);
	json_decref(o);
	cgroup_roots__close(&r);
}

/* ---- a task ---- */

static void a_child_of_ours(void **state)
{
	json_t *o = NULL, *command = NULL;
	pid_t pid = fork();
	cpu_set_t set;
	char text[64];

	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* ends with a test that fails */
		pause();
		_exit(0);
	}
	assert_int_equal(setpriority(PRIO_PROCESS, pid, 7), 0);
	assert_int_equal(sched_getaffinity(pid, sizeof(set), &set), 0);
	for (int i = 0, n = 0; i < CPU_SETSIZE; i++) /* only the first allowed CPU */
		if (CPU_ISSET(i, &set) && n++)
			CPU_CLR(i, &set);
	assert_int_equal(sched_setaffinity(pid, sizeof(set), &set), 0);
	assert_int_equal(task_state__read(&no_roots, pid, now_ns(), &o), 0);
	assert_string_equal(json_string_value(json_object_get(o, "policy")), "other");
	assert_int_equal(json_integer_value(json_object_get(o, "nice")), 7);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set))
			snprintf(text, sizeof(text), "%d", i);
	assert_string_equal(json_string_value(json_object_get(o, "cpus")), text);
	assert_true(json_integer_value(json_object_get(o, "resident_bytes")) > 0);
	assert_int_equal(number(o, "parents", 0, "pid"), getpid());
	assert_int_equal(task_state__command(examiner, pid, now_ns(), &command), 0);
	assert_non_null(strstr(json_string_value(command), "test_task_state"));
	json_decref(o);
	json_decref(command);
	/*
	 * before the birth of the child, another task had its number: not found; nor is a task that
	 * has ended
	 */
	assert_int_equal(task_state__read(&no_roots, pid, 1000000, &o), -ESRCH);
	assert_int_equal(task_state__command(examiner, pid, 1000000, &command), -ESRCH);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(task_state__read(&no_roots, pid, now_ns(), &o), -ESRCH);
}

static int make_tree(void **state)
{
	return mkdtemp(tree) ? examiner__new(&examiner) : -1;
}

static int drop_tree(void **state)
{
	examiner__free(examiner);
	remove_temp_tree(tree);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_of_lines),    cmocka_unit_test(quotas),
		cmocka_unit_test(pressures),	       cmocka_unit_test(limits_of_version_2),
		cmocka_unit_test(limits_of_version_1), cmocka_unit_test(a_child_of_ours),
	};

	return cmocka_run_group_tests(tests, make_tree, drop_tree);
}
