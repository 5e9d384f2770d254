// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes in user space on the running kernel: functions and static probes of this very program, run
 * into by children, as our own process is never a subject. Skips without root, BTF or uprobes.
 * with: others
 */
#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cmocka.h>

#include <bpf/bpf.h>

#include "user_probe_fixture.h"

#define MAX_CALLS 16 /* of one function that are measured, one within the other */

/* ---- what is watched ---- */

static jmp_buf way_out;

static void sleep_ms(int ms)
{
	const struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	nanosleep(&ts, NULL);
}

WATCHED long watched_slow(int ms, long ret);
WATCHED long watched_slow(int ms, long ret)
{
	sleep_ms(ms);
	return ret;
}

/* Sleeps at the bottom, or leaves all of it from there. */
WATCHED int watched_deep(int depth, int ms);
WATCHED int watched_deep(int depth, int ms)
{
	int below = 0;

	if (depth > 0)
		below = watched_deep(depth - 1, ms);
	else if (ms < 0)
		longjmp(way_out, 1);
	else
		sleep_ms(ms);
	__asm__ volatile("" : "+r"(below));
	return below + 1;
}

/* ---- children ---- */

static void run_slow(struct findings *f, long ms)
{
	f->pid = getpid();
	f->begin = now_ns();
	watched_slow(ms, -5);
	f->end = now_ns();
}

static void run_deep(struct findings *f, long depth)
{
	f->begin = now_ns();
	watched_deep(depth, 30);
	f->end = now_ns();
}

/* Leaves @n nested calls at once, from depths that differ, then makes one that returns. */
static void run_jumps(struct findings *f, long n)
{
	volatile long left = n;

	if (setjmp(way_out))
		left--;
	if (left > 0)
		watched_deep(left % 7, -1);
	sleep_ms(60); /* what would be measured if one of them were taken for the next */
	f->begin = now_ns();
	watched_deep(0, 30);
	f->end = now_ns();
}

static void run_named_six(struct findings *f, long n)
{
	prctl(PR_SET_NAME, "gate-child-before");
	prctl(PR_SET_NAME, "gate-child");
	run_six(f, n);
}

static void run_named_probe(struct findings *f, long n)
{
	prctl(PR_SET_NAME, "gate-child");
	run_probe(f, n);
}

/* ---- tests ---- */

static void test_hit(void **state)
{
	struct rule_conf rules[] = {
		rule_when(1, "uprobe:SELF:watched_six", NULL),
		rule_when(2, "uprobe:SELF:watched_six", "arg0 == 7"),
		rule_when(3, "uprobe:SELF:watched_six",
			  "arg1 == -1 && arg2 == 3 && arg3 == 4 && arg4 == 5 && arg5 == 6"),
		rule_when(4, "uprobe:SELF:watched_six", "arg0 >= 10 || arg5 != 6"),
		rule_when(5, "uprobe:SELF:watched_six+0", "arg0 == 0"),
	};
	struct detectors *d;
	uint32_t slots[5];
	struct sink s;
	pid_t child;

	SKIP_UNLESS_UPROBES();
	rules[0].quiet = rules[2].quiet = rules[3].quiet = rules[4].quiet = true;
	d = open_detectors();
	update(d, rules, 5, slots);
	child = spawn(run_six, NULL, 10);
	await_success(child);
	assert_int_equal(matched(d, slots[0]), 10);
	assert_int_equal(matched(d, slots[1]), 1);
	assert_int_equal(matched(d, slots[2]), 10);
	assert_int_equal(matched(d, slots[3]), 0);
	assert_int_equal(matched(d, slots[4]), 1);
	s = collect(d, 2000);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.v[0].source, FRBPF_SOURCE_UPROBE);
	assert_int_equal(s.v[0].rule_id, 2);
	assert_int_equal(s.v[0].value, 0);
	assert_int_equal(s.v[0].subject.pid, child);
	assert_int_equal(s.v[0].args[0][0], 7);
	assert_int_equal((long)s.v[0].args[1][0], -1);
	assert_int_equal(s.v[0].args[5][0], 6);
	run_six(NULL, 10); /* our own */
	assert_int_equal(matched(d, slots[1]), 2);
	assert_int_equal(missing(d), 0);
	detectors__free(d);
	free_rules(rules, 5);
}

static void test_latency(void **state)
{
	struct rule_conf rules[] = {
		rule_when(1, "uprobe:SELF:watched_slow > 20ms", "arg0 == 40 && ret == -5"),
		rule_when(2, "uprobe:SELF:watched_slow > 100s", NULL),
		rule_when(3, "uprobe:SELF:watched_slow", NULL),
		rule_when(4, "uprobe:SELF:watched_slow > 1ns", "arg0 == 0"),
	};
	struct findings *f = shared_memory(sizeof(*f));
	struct detectors *d;
	uint32_t slots[4];
	struct sink s;

	SKIP_UNLESS_UPROBES();
	rules[2].quiet = rules[3].quiet = true;
	d = open_detectors();
	update(d, rules, 4, slots);
	await_success(spawn(run_slow, f, 0)); /* below */
	await_success(spawn(run_slow, f, 40));
	s = collect(d, 2000);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.v[0].rule_id, 1);
	assert_int_equal(s.v[0].subject.pid, f->pid);
	assert_int_equal(s.v[0].current.pid, f->pid);
	assert_in_range(s.v[0].value, 40 * MS, f->end - f->begin);
	assert_in_range(s.v[0].time, f->begin + s.v[0].value, f->end);
	assert_int_equal(s.v[0].args[0][0], 40);
	assert_int_equal(s.v[0].ret, -5);
	assert_int_equal(matched(d, slots[1]), 0);
	assert_int_equal(matched(d, slots[2]), 2);
	assert_int_equal(matched(d, slots[3]), 1);
	detectors__free(d);
	free_rules(rules, 4);
	munmap(f, sizeof(*f));
}

static void test_recursion(void **state)
{
	struct rule_conf rule = rule_when(1, "uprobe:SELF:watched_deep > 20ms", NULL);
	struct findings *f = shared_memory(sizeof(*f));
	struct detectors *d;
	uint32_t slot;
	struct sink s;

	SKIP_UNLESS_UPROBES();
	d = open_detectors();
	update(d, &rule, 1, &slot);
	await_success(spawn(run_deep, f, 4));
	s = collect(d, 2000);
	assert_int_equal(s.n, 5);
	for (int i = 0; i < 5; i++) { /* the innermost returns first */
		assert_int_equal(s.v[i].args[0][0], i);
		assert_int_equal(s.v[i].ret, i + 1);
		assert_in_range(s.v[i].value, i ? s.v[i - 1].value : 30 * MS, f->end - f->begin);
	}
	assert_int_equal(missing(d), 0);
	await_success(spawn(run_deep, f, MAX_CALLS + 4));
	s = collect(d, 2000);
	assert_int_equal(s.n, MAX_CALLS);
	assert_int_equal(s.v[0].args[0][0], 5);
	assert_int_equal(missing(d), 5);
	detectors__free(d);
	free_rules(&rule, 1);
	munmap(f, sizeof(*f));
}

static void test_longjmp(void **state)
{
	struct rule_conf rule = rule_when(1, "uprobe:SELF:watched_deep > 10ms", NULL);
	struct findings *f = shared_memory(sizeof(*f));
	struct detectors *d;
	uint32_t slot;
	struct sink s;

	SKIP_UNLESS_UPROBES();
	d = open_detectors();
	update(d, &rule, 1, &slot);
	await_success(spawn(run_jumps, f, 50));
	s = collect(d, 2000);
	assert_int_equal(s.n, 1);
	assert_in_range(s.v[0].value, 30 * MS, f->end - f->begin);
	assert_int_equal(s.v[0].args[0][0], 0);
	assert_in_range(missing(d), 1, UINT32_MAX); /* those that were left */
	detectors__free(d);
	free_rules(&rule, 1);
	munmap(f, sizeof(*f));
}

static void test_usdt(void **state)
{
	struct rule_conf rules[] = {
		rule_when(1, "usdt:SELF:frbpf_unit:tick", NULL),
		rule_when(2, "usdt:SELF:frbpf_unit:tick", "arg0 == -3 && arg1 == 0x10000000003"),
		rule_when(3, "usdt:SELF:frbpf_unit:tick", "arg2 != 200 || arg3 != -9 || arg4 != 0"),
	};
	struct detectors *d;
	uint32_t slots[3];
	struct sink s;

	SKIP_UNLESS_UPROBES();
	rules[0].quiet = true;
	d = open_detectors();
	update(d, rules, 3, slots);
	await_success(spawn(run_probe, NULL, 6));
	s = collect(d, 2000);
	assert_int_equal(matched(d, slots[0]), 6);
	assert_int_equal(matched(d, slots[2]), 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.v[0].source, FRBPF_SOURCE_USDT);
	assert_int_equal(s.v[0].rule_id, 2);
	assert_int_equal((long)s.v[0].args[0][0], -3);
	assert_int_equal(s.v[0].args[1][0], 0x10000000003);
	detectors__free(d);
	free_rules(rules, 3);
}

/* Programs on these probes are preempted where the kernel is (preempt=full): what one task has must
 * not get into another's. */
static void run_pairs(struct findings *f, long number)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (int i = 0; i < 20000; i++) {
		watched_six(number, number, 0, 0, 0, 0);
		if (i % 64 == 0)
			sched_yield();
	}
}

static void test_preempted(void **state)
{
	struct rule_conf rules[] = {
		rule_when(1, "uprobe:SELF:watched_six", "arg0 == 1 && arg1 == 1"),
		rule_when(2, "uprobe:SELF:watched_six", "arg0 == 2 && arg1 == 2"),
		rule_when(3, "uprobe:SELF:watched_six",
			  "arg0 == 1 && arg1 != 1 || arg0 == 2 && arg1 != 2"),
	};
	struct detectors *d;
	uint32_t slots[3];
	pid_t children[4];

	SKIP_UNLESS_UPROBES();
	for (int i = 0; i < 3; i++)
		rules[i].quiet = true;
	d = open_detectors();
	update(d, rules, 3, slots);
	for (int i = 0; i < 4; i++)
		children[i] = spawn(run_pairs, NULL, 1 + i % 2);
	for (int i = 0; i < 4; i++)
		await_success(children[i]);
	assert_int_equal(matched(d, slots[0]), 40000);
	assert_int_equal(matched(d, slots[1]), 40000);
	assert_int_equal(matched(d, slots[2]), 0);
	assert_int_equal(missing(d), 0);
	detectors__free(d);
	free_rules(rules, 3);
}

static void test_update(void **state)
{
	struct rule_conf rules[] = {
		rule_when(1, "uprobe:SELF:watched_six", NULL),
		rule_when(2, "uprobe:SELF:watched_slow > 1h", NULL),
		rule_when(3, "uprobe:SELF:no_such_function", NULL),
	};
	struct err err = { "" };
	struct detectors *d;
	uint32_t slots[3];

	SKIP_UNLESS_UPROBES();
	rules[0].quiet = true;
	d = open_detectors();
	update(d, rules, 1, slots);
	await_success(spawn(run_six, NULL, 5));
	update(d, rules, 2, slots);
	await_success(spawn(run_six, NULL, 5));
	assert_int_equal(detectors__update(d, rules, 3, slots, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "has no function 'no_such_function'"));
	await_success(spawn(run_six, NULL, 5));
	assert_int_equal(matched(d, slots[0]), 15);
	update(d, rules + 1, 1, slots + 1);
	await_success(spawn(run_six, NULL, 5));
	update(d, rules, 1, slots); /* a clean slot */
	await_success(spawn(run_six, NULL, 5));
	assert_int_equal(matched(d, slots[0]), 5);
	detectors__free(d);
	free_rules(rules, 3);
}

/* The condition of the only rule in force is what hits are measured by first: each argument, the
 * thread's name, its number. */
static void test_gate(void **state)
{
	static const struct {
		const char *when, *condition;
		unsigned int n; /* of ten calls */
	} cases[] = {
		{ "uprobe:SELF:watched_six", "arg0 == 7", 1 },
		{ "uprobe:SELF:watched_six", "arg0 != 7", 9 },
		{ "uprobe:SELF:watched_six", "arg0 >= 2 && arg0 < 5 || arg0 == 9", 4 },
		{ "uprobe:SELF:watched_six", "arg1 == -1", 10 },
		{ "uprobe:SELF:watched_six", "arg1 == 0", 0 },
		{ "uprobe:SELF:watched_six", "arg2 == 3", 10 },
		{ "uprobe:SELF:watched_six", "arg3 == 4", 10 },
		{ "uprobe:SELF:watched_six", "arg4 == 5", 10 },
		{ "uprobe:SELF:watched_six", "arg5 == 6", 10 },
		{ "uprobe:SELF:watched_six", "arg5 == 5", 0 },
		{ "uprobe:SELF:watched_six", "comm == \"gate-child\"", 10 },
		{ "uprobe:SELF:watched_six", "comm ~ \"gate-*\" && arg0 in (3, 4)", 2 },
		{ "uprobe:SELF:watched_six", "comm == \"gate-chil\"", 0 },
		{ "uprobe:SELF:watched_six", "comm == \"gate-children\"", 0 },
		{ "uprobe:SELF:watched_six", "uid == 0", 10 },
		{ "uprobe:SELF:watched_six", "uid > 0", 0 },
		{ "uprobe:SELF:watched_six", "pid > 1 && tid > 1", 10 },
		{ "uprobe:SELF:watched_six", "pid == 1", 0 },
		{ "usdt:SELF:frbpf_unit:tick", "arg0 == -3", 1 },
		{ "usdt:SELF:frbpf_unit:tick", "arg1 > 0x10000000006", 3 },
		{ "usdt:SELF:frbpf_unit:tick", "arg2 == 200", 10 },
		{ "usdt:SELF:frbpf_unit:tick", "arg3 == -9 && comm == \"gate-child\"", 10 },
		{ "usdt:SELF:frbpf_unit:tick", "arg3 == 9", 0 },
	};
	struct detectors *d;

	SKIP_UNLESS_UPROBES();
	d = open_detectors();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool usdt = !strncmp(cases[i].when, "usdt:", 5);
		struct rule_conf rule = rule_when(100 + i, cases[i].when, cases[i].condition);
		uint32_t slot;

		rule.quiet = true;
		update(d, &rule, 1, &slot);
		await(spawn(usdt ? run_named_probe : run_named_six, NULL, 10));
		if (matched(d, slot) != cases[i].n)
			fail_msg("%s: %u, not %u", cases[i].condition,
				 (unsigned int)matched(d, slot), cases[i].n);
		free_rules(&rule, 1);
	}
	assert_int_equal(missing(d), 0);
	detectors__free(d);
}

static void test_verified_instructions(void **state)
{
	static const char *const whens[] = { "uprobe:SELF:watched_six",
					     "uprobe:SELF:watched_slow > 1h",
					     "usdt:SELF:frbpf_unit:tick", "app:verified" };
	enum { N = 4 * FRBPF_MAX_RULES };
	struct rule_conf *rules = calloc(N, sizeof(*rules));
	uint32_t *slots = calloc(N, sizeof(*slots));
	struct detectors *d;
	int n;

	SKIP_UNLESS_UPROBES();
	assert_true(rules && slots);
	for (int i = 0; i < N; i++)
		rules[i] =
			rule_when(i + 1, whens[i % 4],
				  i % 4 == 3 ? "comm ~ \"a*b\" || process ~ \"*c\" || uid == 99999"
					     : "arg0 == 1 || arg1 == 1 || arg2 == 1 || arg3 == 1 "
					       "|| arg4 > 1 || comm ~ \"a*b\" || process ~ "
					       "\"*c\" || uid == 99999");
	d = open_detectors();
	update(d, rules, N, slots);
	n = check_instructions("up_") + check_instructions("ud_") + check_instructions("app_hit");
	assert_true(n >= 5); /* others may run this test, too */
	detectors__free(d);
	free_rules(rules, N);
	free(rules);
	free(slots);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hit),
		cmocka_unit_test(test_latency),
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_longjmp),
		cmocka_unit_test(test_usdt),
		cmocka_unit_test(test_preempted),
		cmocka_unit_test(test_gate),
		cmocka_unit_test(test_update),
		cmocka_unit_test(test_verified_instructions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
