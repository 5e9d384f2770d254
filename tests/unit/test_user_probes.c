// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes in user space on the running kernel: functions of this program, reached by children, as
 * this process is never a subject. Tests of static probes alone are in test_usdt.c. Skips without
 * root, BTF or uprobes.
 * with: others
 */
#include <limits.h>
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
#include <ucontext.h>

#include <cmocka.h>

#include <bpf/bpf.h>

#include "common/clock.h"
#include "rules/rate.h"
#include "user_probe_fixture.h"

/* ---- the watched functions ---- */

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

/* At the last call: sleep, or leave all calls. */
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

/* Leaves @n nested calls at once, from different depths, then makes one that returns. */
static void run_jumps(struct findings *f, long n)
{
	volatile long left = n;

	if (setjmp(way_out))
		left--;
	if (left > 0)
		watched_deep(left % 7, -1);
	sleep_ms(60); /* the least value if a left call were taken for the next one */
	f->begin = now_ns();
	watched_deep(0, 30);
	f->end = now_ns();
}

/*
 * Two stacks and two threads. Calls on the two stacks overlap in time. On the first stack, one call
 * begins here and ends in the other thread; another call does the reverse.
 */
struct fibers {
	ucontext_t way_back, fiber[2];
	char *stacks;
	long ms[2];
};
static struct fibers fibers;

#define FIBER_STACK (64 << 10)

/* Each switches away in the middle. */
WATCHED long watched_fiber(int i, long ret);
WATCHED long watched_fiber(int i, long ret)
{
	swapcontext(&fibers.fiber[i], &fibers.way_back);
	__asm__ volatile("" : "+r"(ret));
	return ret;
}

static void fiber_main(int i)
{
	for (long n = 0;; n++) {
		watched_fiber(i, 10 * i + n);
		swapcontext(&fibers.fiber[i], &fibers.way_back);
	}
}

static void fiber_go_on(int i)
{
	if (swapcontext(&fibers.way_back, &fibers.fiber[i]))
		_exit(1);
}

static void *go_on_first(void *arg)
{
	fiber_go_on(0);
	return NULL;
}

static void in_another_thread(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, go_on_first, NULL) || pthread_join(t, NULL))
		_exit(1);
}

/* The upper stack belongs to the second fiber. */
static void run_fibers(struct findings *f, long unused)
{
	fibers.stacks = malloc(2 * FIBER_STACK);
	for (int i = 0; i < 2; i++) {
		if (!fibers.stacks || getcontext(&fibers.fiber[i]))
			_exit(1);
		fibers.fiber[i].uc_stack.ss_sp = fibers.stacks + i * FIBER_STACK;
		fibers.fiber[i].uc_stack.ss_size = FIBER_STACK;
		makecontext(&fibers.fiber[i], (void (*)(void))fiber_main, 1, i);
	}
	f->begin = now_ns();
	fiber_go_on(0); /* the first call begins */
	fiber_go_on(1); /* another call, on the upper stack */
	sleep_ms(30);
	fiber_go_on(0); /* the first ends */
	fiber_go_on(1);
	f->end = now_ns();
	fiber_go_on(0);	     /* begins here ... */
	in_another_thread(); /* ... and ends there at once */
	sleep_ms(30);
	in_another_thread(); /* begins there, at the same address ... */
	fiber_go_on(0);	     /* ... and ends here at once */
	free(fibers.stacks);
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
	await_success(spawn(run_slow, f, 0)); /* below the threshold */
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
	detectors__free(d);
	free_rules(&rule, 1);
	munmap(f, sizeof(*f));
}

/* Calls on several stacks, and in several threads: none is missed, and no value is too long. */
static void test_stack_switch(void **state)
{
	struct rule_conf rules[] = {
		rule_when(1, "uprobe:SELF:watched_fiber > 1ns", NULL),
		rule_when(2, "uprobe:SELF:watched_fiber > 20ms", NULL),
	};
	struct findings *f = shared_memory(sizeof(*f));
	struct detectors *d;
	uint32_t slots[2];
	struct sink s;

	SKIP_UNLESS_UPROBES();
	rules[0].quiet = true;
	d = open_detectors();
	update(d, rules, 2, slots);
	await_success(spawn(run_fibers, f, 0));
	s = collect(d, 2000);
	assert_int_equal(matched(d, slots[0]), 4);
	assert_true(s.n >= 2); /* on a busy machine the other calls may be as slow */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(s.v[i].args[0][0], i);
		assert_int_equal(s.v[i].ret, 10 * i);
		assert_in_range(s.v[i].value, 30 * MS, f->end - f->begin);
	}
	for (int i = 2; i < s.n; i++)
		assert_in_range(s.v[i].value, 0, f->end - f->begin);
	assert_int_equal(missing(d), 0);
	detectors__free(d);
	free_rules(rules, 2);
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
	assert_in_range(missing(d), 1, UINT32_MAX); /* the calls that were left */
	detectors__free(d);
	free_rules(&rule, 1);
	munmap(f, sizeof(*f));
}

/*
 * With preempt=full, programs on these probes preempt each other: data of one task must not get
 * into another's.
 */
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
	update(d, rules, 1, slots); /* its slot is cleared */
	await_success(spawn(run_six, NULL, 5));
	assert_int_equal(matched(d, slots[0]), 5);
	detectors__free(d);
	free_rules(rules, 3);
}

/*
 * The prefilter tests hits against the condition of the only rule: each argument, the thread's
 * name, its number.
 */
static void test_prefilter(void **state)
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

/* ---- strings of a call ---- */

WATCHED long watched_text(const char *text, long n);
WATCHED long watched_text(const char *text, long n)
{
	__asm__ volatile("" : "+r"(text), "+r"(n));
	return n;
}

static void call_with_texts(struct findings *f, long unused)
{
	/* on the stack: in a new process, pages of constants may not be loaded */
	char api[] = "api.example.com", org[] = "example.org", empty[] = "";

	set_name(subject_name());
	watched_text(api, 1);
	watched_text(org, 2);
	watched_text(empty, 3);
	watched_text((const char *)8, 4); /* cannot be read */
}

static struct rule_conf text_rule(uint64_t id, const char *when, const char *and)
{
	char condition[96];

	snprintf(condition, sizeof(condition), "comm == \"%s\" && %s", subject_name(), and);
	return rule_when(id, when, condition);
}

static void test_call_texts(void **state)
{
	struct rule_conf rules[] = {
		text_rule(10, "uprobe:SELF:watched_text", "str(arg0) ~ \"*.example.com\""),
		text_rule(11, "uprobe:SELF:watched_text", "str(arg0) != \"example.org\""),
		text_rule(12, "uprobe:SELF:watched_text > 1ns",
			   "str(arg0) == \"example.org\""),
	};
	uint32_t slots[ARRAY_SIZE(rules)];
	struct detectors_stats stats;
	struct detectors *d;
	struct sink got;

	SKIP_UNLESS_UPROBES();
	d = detectors_with(rules, ARRAY_SIZE(rules), slots);
	assert_int_equal(await(spawn(call_with_texts, NULL, 0)), 0);
	got = collect(d, 20000);
	assert_int_equal(got.v[0].rule_id, 10);
	assert_int_equal(got.v[0].text_is, 2);
	assert_string_equal(got.v[0].text, "api.example.com");
	assert_int_equal(matched(d, slots[0]), 1);
	assert_int_equal(matched(d, slots[1]), 2); /* the first, and the empty one */
	assert_int_equal(matched(d, slots[2]), 1);
	detectors__stats(d, &stats);
	assert_int_equal(stats.texts_unread, 2); /* of the hit and of the call */
	detectors__free(d);
	free_rules(rules, ARRAY_SIZE(rules));
}

static void test_verified_instructions(void **state)
{
	static const char *const whens[] = { "uprobe:SELF:watched_six",
					     "uprobe:SELF:watched_slow > 1h",
					     "usdt:SELF:frbpf_unit:tick" };
	enum { N = 3 * FRBPF_MAX_RULES };
	struct rule_conf *rules = calloc(N, sizeof(*rules));
	uint32_t *slots = calloc(N, sizeof(*slots));
	struct detectors *d;
	int n;

	SKIP_UNLESS_UPROBES();
	assert_true(rules && slots);
	for (int i = 0; i < N; i++)
		rules[i] =
			rule_when(i + 1, whens[i % 3],
				  "arg0 == 1 || arg1 == 1 || arg2 == 1 || arg3 == 1 || arg4 > 1 || "
				  "comm ~ \"a*b\" || process ~ \"*c\" || uid == 99999");
	d = open_detectors();
	update(d, rules, N, slots);
	n = check_instructions("up_") + check_instructions("ud_");
	assert_true(n >= 4); /* others may run this test, too */
	detectors__free(d);
	free_rules(rules, N);
	free(rules);
	free(slots);
}

/*
 * Conditions use only arguments. Hits are suppressed if they are our own, in the cooldown, or
 * before the n-th match. The trigger has all arguments.
 */
static void test_suppressed(void **state)
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
	rules[1].cooldown.time = (3600000 * MS);
	rules[2].count = (struct rate){ .n = 4, .time = (3600000 * MS) };
	update(d, rules, 3, slots);
	run_six(NULL, 20);
	detectors__suppress(d, slots[0], now_ns() + (3600000 * MS));
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
	assert_int_equal(s.v[0].args[5][0], 6); /* which no rule uses */
	assert_int_equal(s.v[1].rule_id, 3);
	assert_int_equal((long)s.v[1].args[0][0], -3);
	assert_int_equal(s.v[1].args[1][0], 0x10000000003); /* nor this one */
	assert_int_equal(s.v[1].args[2][0], 200);
	assert_int_equal((long)s.v[1].args[3][0], -9);
	detectors__free(d);
	free_rules(rules, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hit),
		cmocka_unit_test(test_latency),
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_stack_switch),
		cmocka_unit_test(test_longjmp),
		cmocka_unit_test(test_call_texts),
		cmocka_unit_test(test_preempted),
		cmocka_unit_test(test_suppressed),
		cmocka_unit_test(test_prefilter),
		cmocka_unit_test(test_update),
		cmocka_unit_test(test_verified_instructions),
	};

	return cmocka_run_group_tests(tests, start_reader, stop_reader);
}
