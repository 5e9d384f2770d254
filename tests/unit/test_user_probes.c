// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes in user space on the running kernel: functions and static probes of this very program, run
 * into by children, as our own process is never a subject. Skips without root, BTF or uprobes.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
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
#include <unistd.h>

#include <cmocka.h>

#include <bpf/bpf.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "rules/rate.h"
#include "detect_fixture.h"

#define WATCHED	  __attribute__((noinline, noclone, used))
#define MAX_CALLS 16 /* of one function that are measured, one within the other */

#define SKIP_UNLESS_UPROBES()                                                                      \
	do {                                                                                       \
		SKIP_UNLESS_POSSIBLE();                                                            \
		SKIP_IF(access("/sys/bus/event_source/devices/uprobe/type", R_OK),                 \
			"needs uprobes");                                                          \
	} while (0)

/* ---- what is watched ---- */

static jmp_buf way_out;

static void sleep_ms(int ms)
{
	const struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	nanosleep(&ts, NULL);
}

WATCHED long watched_six(long a, long b, long c, long d, long e, long f);
WATCHED long watched_six(long a, long b, long c, long d, long e, long f)
{
	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
	return (unsigned long)a + b + c + d + e + f; /* they may be of any size */
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

#if defined(__x86_64__)
#define ARGS "-4@%0 8@%1 1@$200 -2@$-9"
#elif defined(__aarch64__)
#define ARGS "-4@%0 8@%1 1@200 -2@-9"
#endif

WATCHED void watched_probe(long a, long b);
WATCHED void watched_probe(long a, long b)
{
#if defined(__x86_64__)
	int low = a;
#else
	long low = a;
#endif
	__asm__ volatile("990:	nop\n"
			 ".pushsection .note.stapsdt,\"\",\"note\"\n"
			 ".balign 4\n"
			 ".4byte 992f-991f, 994f-993f, 3\n"
			 "991:	.asciz \"stapsdt\"\n"
			 "992:	.balign 4\n"
			 "993:	.8byte 990b\n"
			 ".8byte _.stapsdt.base\n"
			 ".8byte 0\n"
			 ".asciz \"frbpf_unit\"\n"
			 ".asciz \"tick\"\n"
			 ".asciz \"" ARGS "\"\n"
			 "994:	.balign 4\n"
			 ".popsection\n"
			 ".ifndef _.stapsdt.base\n"
			 ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
			 ".weak _.stapsdt.base\n"
			 ".hidden _.stapsdt.base\n"
			 "_.stapsdt.base: .space 1\n"
			 ".size _.stapsdt.base, 1\n"
			 ".popsection\n"
			 ".endif\n" ::"r"(low),
			 "r"(b));
}

/* ---- rules ---- */

static const char *own_path(void)
{
	static char path[PATH_MAX];
	ssize_t n = path[0] ? 0 : readlink("/proc/self/exe", path, sizeof(path) - 1);

	assert_true(n >= 0);
	return path;
}

/* @when speaks of our program where it has "SELF". @condition may be NULL. */
static struct rule_conf rule_when(uint64_t id, const char *when, const char *condition)
{
	const char *self = strstr(when, "SELF");
	char text[2 * PATH_MAX];

	if (self)
		snprintf(text, sizeof(text), "%.*s%s%s", (int)(self - when), when, own_path(),
			 self + 4);
	return rule_of(id, self ? text : when, condition);
}

/* ---- detectors ---- */

static uint64_t missing(const struct detectors *d)
{
	struct detectors_stats stats;

	detectors__stats(d, &stats);
	return stats.missing_storage;
}

/* ---- children ---- */

struct findings {
	uint64_t begin, end;
	pid_t pid;
};

static void await_success(pid_t pid)
{
	assert_int_equal(await(pid), 0);
}

static void run_six(struct findings *f, long n)
{
	for (long i = 0; i < n; i++)
		watched_six(i, -1, 3, 4, 5, 6);
}

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

static void run_probe(struct findings *f, long n)
{
	for (long i = 0; i < n; i++)
		watched_probe(-i, 1L << 40 | i);
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
	assert_int_equal(missing(d), 0);
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

struct settle_case {
	const char *condition;
	bool quiet;
	struct rate cooldown, count;
	uint64_t matched, fired;
	uint64_t suppressed[FRBPF_CAUSE_MAX]; /* by cause; together with fired: all */
};

static void check_settled(const struct settle_case *c, struct frbpf_rule_state st)
{
	if (st.matched != c->matched || st.fired != c->fired)
		fail_msg("%s: %u matched, %u fired", c->condition, (unsigned int)st.matched,
			 (unsigned int)st.fired);
	assert_memory_equal(st.suppressed, c->suppressed, sizeof(st.suppressed));
	assert_int_equal(st.values[0], c->matched);
	assert_int_equal(st.sum, 0);
}

/* The same rates with a condition that arguments decide, and with one for which the task has to be
 * looked at: a match that is settled early comes to what the engine would make of it. */
static void settle_in_turn(struct detectors *d, const struct settle_case *c, uint64_t hold_all)
{
	static const struct {
		unsigned int n;
		bool of_task[3];
	} sets[] = { { 1, { false } },
		     { 1, { true } },
		     { 3, { false, true, false } },
		     { 3, { true, false, true } },
		     { 2, { false, false } } };
	static uint64_t id = 1000;
	char condition[128];

	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		struct rule_conf rules[3];
		uint32_t slots[3];

		for (unsigned int k = 0; k < sets[i].n; k++) {
			snprintf(condition, sizeof(condition), "%s%s", c->condition,
				 sets[i].of_task[k] ? " && prio < 140" : "");
			rules[k] = rule_when(++id, "uprobe:SELF:watched_six", condition);
			rules[k].quiet = c->quiet;
			rules[k].cooldown = c->cooldown;
			rules[k].count = c->count;
		}
		update(d, rules, sets[i].n, slots);
		detectors__hold(d, FRBPF_HOLD_ALL, hold_all);
		await_success(spawn(run_six, NULL, 100));
		for (unsigned int k = 0; k < sets[i].n; k++)
			check_settled(c, state_of(d, slots[k]));
		collect(d, 0);
		detectors__hold(d, FRBPF_HOLD_ALL, 0);
		free_rules(rules, sets[i].n);
	}
}

#define HOUR (3600000 * MS)

static void test_settled(void **state)
{
	static const struct settle_case cases[] = {
		{ .condition = "arg0 < 10", .matched = 10, .fired = 10 },
		{ .condition = "arg0 < 10 || arg0 == 99", .matched = 11, .fired = 11 },
		{ .condition = "arg0 < 40 && arg1 == -1",
		  .quiet = true,
		  .matched = 40,
		  .fired = 40 },
		{ .condition = "arg0 & 1",
		  .cooldown.window = HOUR,
		  .matched = 50,
		  .fired = 1,
		  .suppressed[FRBPF_CAUSE_COOLDOWN] = 49 },
		{ .condition = "arg0 != 5",
		  .quiet = true,
		  .cooldown.window = HOUR,
		  .matched = 99,
		  .fired = 1,
		  .suppressed[FRBPF_CAUSE_COOLDOWN] = 98 },
		{ .condition = "arg0 <= 98",
		  .count = { .n = 9, .window = HOUR },
		  .matched = 99,
		  .fired = 11,
		  .suppressed[FRBPF_CAUSE_COUNT] = 88 },
		{ .condition = "arg0 <= 98",
		  .quiet = true,
		  .count = { .n = 9, .window = HOUR },
		  .matched = 99,
		  .fired = 11,
		  .suppressed[FRBPF_CAUSE_COUNT] = 88 },
		{ .condition = "arg2 == 3",
		  .cooldown.window = HOUR,
		  .count = { .n = 10, .window = HOUR },
		  .matched = 100,
		  .fired = 1,
		  .suppressed = { [FRBPF_CAUSE_COOLDOWN] = 9, [FRBPF_CAUSE_COUNT] = 90 } },
		{ .condition = "arg2 == 3",
		  .cooldown = { .window = HOUR, .per = FRBPF_PER_PROCESS },
		  .count = { .n = 10, .window = HOUR },
		  .matched = 100,
		  .fired = 1,
		  .suppressed = { [FRBPF_CAUSE_COOLDOWN] = 9, [FRBPF_CAUSE_COUNT] = 90 } },
		{ .condition = "arg2 == 3",
		  .cooldown.window = HOUR,
		  .count = { .n = 10, .window = HOUR, .per = FRBPF_PER_THREAD },
		  .matched = 100,
		  .fired = 1,
		  .suppressed = { [FRBPF_CAUSE_COOLDOWN] = 9, [FRBPF_CAUSE_COUNT] = 90 } },
	};
	static const struct settle_case held = {
		.condition = "arg3 == 4",
		.cooldown.window = HOUR,
		.count = { .n = 10, .window = HOUR },
		.matched = 100,
		.suppressed = { [FRBPF_CAUSE_CAP] = 10, [FRBPF_CAUSE_COUNT] = 90 },
	};
	struct detectors *d;

	SKIP_UNLESS_UPROBES();
	d = open_detectors();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		settle_in_turn(d, &cases[i], 0);
	settle_in_turn(d, &held, now_ns() + HOUR);
	assert_int_equal(missing(d), 0);
	detectors__free(d);
}

/* What holds one rule back, and that it is our own doing. */
static void test_settled_others(void **state)
{
	struct rule_conf rules[] = {
		rule_when(1, "uprobe:SELF:watched_six", "arg0 < 10"),
		rule_when(2, "uprobe:SELF:watched_six", "arg0 < 10"),
		rule_when(3, "usdt:SELF:frbpf_unit:tick", "arg0 <= 0 && arg3 == -9"),
	};
	struct frbpf_rule_state st;
	struct detectors *d;
	uint32_t slots[3];
	struct sink s;

	SKIP_UNLESS_UPROBES();
	d = open_detectors();
	rules[1].cooldown.window = HOUR;
	rules[2].count = (struct rate){ .n = 4, .window = HOUR };
	update(d, rules, 3, slots);
	run_six(NULL, 20);
	detectors__hold(d, slots[0], now_ns() + HOUR);
	await_success(spawn(run_six, NULL, 20));
	await_success(spawn(run_probe, NULL, 4));
	s = collect(d, 2000);
	for (int i = 0; i < 2; i++) {
		st = state_of(d, slots[i]);
		assert_int_equal(st.matched, 20);
		assert_int_equal(st.fired, i);
		assert_int_equal(st.suppressed[FRBPF_CAUSE_SELF], 10);
		assert_int_equal(st.suppressed[i ? FRBPF_CAUSE_COOLDOWN : FRBPF_CAUSE_RULE_CAP],
				 10 - i);
	}
	st = state_of(d, slots[2]);
	assert_int_equal(st.suppressed[FRBPF_CAUSE_COUNT], 3);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.v[0].rule_id, 2);
	assert_int_equal(s.v[0].args[5][0], 6); /* which no rule looks at */
	assert_int_equal(s.v[1].rule_id, 3);
	assert_int_equal((long)s.v[1].args[0][0], -3);
	assert_int_equal(s.v[1].args[1][0], 0x10000000003); /* likewise */
	assert_int_equal(s.v[1].args[2][0], 200);
	assert_int_equal((long)s.v[1].args[3][0], -9);
	detectors__free(d);
	free_rules(rules, 3);
}

static const int64_t values[] = {
	-INT64_MAX, 1 - INT64_MAX, -65, -2, -1, 0, 1, 2, 3, 64, 1LL << 32, INT64_MAX - 1, INT64_MAX,
};

static void run_values(struct findings *f, long n)
{
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		watched_six(values[i], values[(i + 4) % ARRAY_SIZE(values)], 0, 0, 0, 0);
}

static const char *const operators[] = { "==", "!=", "<", "<=", ">", ">=", "&" };

#define OP_BITS 6 /* an error with 0 */

static bool number_fits(int64_t a, unsigned int op, int64_t b)
{
	switch (op) {
	case 0:
		return a == b;
	case 1:
		return a != b;
	case 2:
		return a < b;
	case 3:
		return a <= b;
	case 4:
		return a > b;
	case 5:
		return a >= b;
	}
	return a & b;
}

/* One predicate of a random condition. */
struct predicate {
	unsigned int arg, op;
	int64_t wanted;
	bool is_not, of_task, ends;
};

static unsigned int draw(unsigned int n)
{
	static uint64_t seed = 20261121;

	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (seed >> 33) % n;
}

static struct rule_conf rule_random(uint64_t id, const struct predicate *p, unsigned int n)
{
	char text[512];
	struct rule_conf r;
	int len = 0;

	for (unsigned int i = 0; i < n; i++) {
		const char *then = i + 1 == n ? "" : p[i].ends ? " || " : " && ";

		if (p[i].of_task) /* true */
			len += snprintf(text + len, sizeof(text) - len, "prio < 140%s", then);
		else
			len += snprintf(text + len, sizeof(text) - len, "%s(arg%u %s %lld)%s",
					p[i].is_not ? "!" : "", p[i].arg, operators[p[i].op],
					(long long)p[i].wanted, then);
	}
	r = rule_when(id, "uprobe:SELF:watched_six", text);
	r.quiet = true;
	return r;
}

static bool condition_holds(const struct predicate *p, unsigned int n, const int64_t *args)
{
	bool all = true, any = false;

	for (unsigned int i = 0; i < n; i++) {
		if (!p[i].of_task &&
		    number_fits(args[p[i].arg], p[i].op, p[i].wanted) == p[i].is_not)
			all = false;
		if (p[i].ends || i + 1 == n) {
			any = any || all;
			all = true;
		}
	}
	return any;
}

#define MAX_CONDITIONS 200

/* @n rules in force at once; one predicate in @tasks is about the task, 0: none. */
static void check_conditions(struct detectors *d, unsigned int n, unsigned int tasks)
{
	static uint64_t id = 2000;
	struct rule_conf rules[MAX_CONDITIONS];
	uint64_t expected[MAX_CONDITIONS] = { 0 };
	uint32_t slots[MAX_CONDITIONS];

	for (unsigned int i = 0; i < n; i++) {
		struct predicate p[5];
		unsigned int n_p = 1 + draw(ARRAY_SIZE(p));

		for (unsigned int k = 0; k < n_p; k++)
			p[k] = (struct predicate){ draw(2),
						   draw(ARRAY_SIZE(operators)),
						   values[draw(ARRAY_SIZE(values))],
						   !draw(3),
						   tasks && !draw(tasks),
						   draw(2) };
		for (unsigned int k = 0; k < n_p; k++)
			p[k].wanted += p[k].op == OP_BITS && !p[k].wanted;
		rules[i] = rule_random(++id, p, n_p);
		for (size_t k = 0; k < ARRAY_SIZE(values); k++) {
			int64_t args[] = { values[k], values[(k + 4) % ARRAY_SIZE(values)] };

			expected[i] += condition_holds(p, n_p, args);
		}
	}
	update(d, rules, n, slots);
	await_success(spawn(run_values, NULL, 0));
	for (unsigned int i = 0; i < n; i++) {
		if (matched(d, slots[i]) != expected[i])
			fail_msg("rule %u of %u: %u, not %u", i, n,
				 (unsigned int)matched(d, slots[i]), (unsigned int)expected[i]);
	}
	free_rules(rules, n);
}

/* Conditions on arguments alone are tested by other means than those that ask for the task, and
 * behind the first of these all are. */
static void test_random_conditions(void **state)
{
	struct detectors *d;

	SKIP_UNLESS_UPROBES();
	d = open_detectors();
	check_conditions(d, MAX_CONDITIONS, 0);
	for (int i = 0; i < 30; i++)
		check_conditions(d, 2, 3);
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
		cmocka_unit_test(test_settled),
		cmocka_unit_test(test_random_conditions),
		cmocka_unit_test(test_settled_others),
		cmocka_unit_test(test_update),
		cmocka_unit_test(test_verified_instructions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
