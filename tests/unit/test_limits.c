// SPDX-License-Identifier: GPL-2.0-only
/*
 * How often matches fire, and whom they are about, on the running kernel. The same must hold for
 * rules decided by the event alone and for rules that need the task. Needs BTF and root.
 * with: others
 */
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/bpf.h>

#include "common/clock.h"
#include "rules/rate.h"
#include "syscall_fixture.h"
#include "tracepoint_fixture.h"

#define N	100
#define HOUR	(3600000 * MS)
#define NO_CALL 505 /* a call that nobody makes */

/* How often @N matches may fire. */
static const struct limits {
	struct rate cooldown, count;
	bool quiet, held;
	uint64_t fired;
	uint64_t suppressed[FRBPF_CAUSE_MAX];
} limits[] = {
	{ .quiet = true, .fired = N },
	{ .cooldown.time = HOUR, .fired = 1, .suppressed[FRBPF_CAUSE_COOLDOWN] = N - 1 },
	{ .cooldown.time = 1,
	  .count = { .n = 10, .time = HOUR },
	  .fired = N / 10,
	  .suppressed[FRBPF_CAUSE_COUNT] = N - N / 10 },
	{ .cooldown.time = HOUR,
	  .count = { .n = 10, .time = HOUR },
	  .fired = 1,
	  .suppressed = { [FRBPF_CAUSE_COOLDOWN] = N / 10 - 1, [FRBPF_CAUSE_COUNT] = N - N / 10 } },
	{ .cooldown.time = HOUR, .held = true, .suppressed[FRBPF_CAUSE_CAP] = N },
};

/* ---- rules: the first needs only the event, the second the task ---- */

enum { OF_EVENT, OF_TASK, RULES };

/* Which rule comes first. */
enum order { EVENT_FIRST, OF_TASK_FIRST, EVENT_ALONE };

static void add_prio(struct rule_conf *r)
{
	add_node(r, FRBPF_FIELD_PRIO, FRBPF_OP_LT, 140, FRBPF_NODE_END); /* true */
}

static void calls(struct rule_conf *rules)
{
	for (int i = 0; i < RULES; i++)
		rules[i] = syscall_rule(0, RARE_CALL, 0);
	add_prio(&rules[OF_TASK]);
}

static void hits(struct rule_conf *rules)
{
	static struct ruleset *rs; /* owns what the rules point to */
	char text[512];

	ruleset__free(rs);
	snprintf(text, sizeof(text),
		 "[rule-a]\nwhen = raw_syscalls:sys_enter\nif = id == %d\n"
		 "[rule-b]\nwhen = raw_syscalls:sys_enter\nif = id == %d && prio < 140\n",
		 RARE_CALL, RARE_CALL);
	rs = parse_tracepoint_rules(text);
	assert_int_equal(rs->n_rules, RULES);
	memcpy(rules, rs->rules, RULES * sizeof(*rules));
}

/* ---- the same result for both ---- */

static uint64_t n_values(const struct frbpf_rule_state *st)
{
	uint64_t n = 0;

	for (int i = 0; i < FRBPF_MAX_VALUES; i++)
		n += st->values[i];
	return n;
}

static void check_rule_state(const struct frbpf_rule_state *st, const struct limits *l,
			     bool has_values)
{
	assert_int_equal(st->matched, N);
	assert_int_equal(st->fired, l->fired);
	assert_memory_equal(st->suppressed, l->suppressed, sizeof(st->suppressed));
	assert_int_equal(n_values(st), N);
	assert_int_equal(has_values, st->sum > 0);
	assert_in_range(st->max_value, st->sum / N, st->sum);
	assert_in_range(st->last_value, 0, st->max_value);
}

static void check_limits(struct detectors *d, void (*make)(struct rule_conf *rules),
			 enum order order, const struct limits *l, bool has_values)
{
	static uint64_t id = 700;
	struct rule_conf rules[RULES], *r = rules;
	int n = order == EVENT_ALONE ? 1 : RULES;
	struct frbpf_rule_state st;
	uint32_t slots[RULES];

	make(rules);
	if (order == OF_TASK_FIRST) {
		struct rule_conf last = rules[OF_EVENT];

		rules[OF_EVENT] = rules[OF_TASK];
		rules[OF_TASK] = last;
	}
	for (; r < rules + n; r++) {
		r->id = ++id;
		r->quiet = l->quiet;
		r->cooldown = l->cooldown;
		r->count = l->count;
	}
	update(d, rules, n, slots);
	detectors__suppress(d, FRBPF_SUPPRESS_ALL, l->held ? now_ns() + HOUR : 0);
	assert_int_equal(await(spawn(make_rare_calls, NULL, N)), 0);
	for (int i = 0; i < n; i++) {
		st = state_of(d, slots[i]);
		check_rule_state(&st, l, has_values);
	}
	collect(d, 0);
}

static void check_source(void (*make)(struct rule_conf *rules), bool has_values)
{
	struct detectors *d = open_detectors();

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		for (enum order order = EVENT_FIRST; order <= EVENT_ALONE; order++)
			check_limits(d, make, order, &limits[i], has_values);
	assert_int_equal(missing(d), 0);
	detectors__free(d);
}

static void test_calls(void **state)
{
	SKIP_UNLESS_POSSIBLE();
	check_source(calls, true);
}

static void test_hits(void **state)
{
	SKIP_UNLESS_POSSIBLE();
	check_source(hits, false);
}

/* @call stands for the call that is made. */
static void name_call(char *text)
{
	char number[8];

	while ((text = strstr(text, "@call"))) {
		snprintf(number, sizeof(number), "%5d", RARE_CALL);
		memcpy(text, number, strlen("@call"));
	}
}

/*
 * Values of the event decide some conjunctions of a condition, and values of the task the others,
 * in either order.
 */
static void test_mixed_conditions(void **state)
{
	static const struct {
		const char *condition;
		uint64_t matched;
	} cases[] = {
		{ "id == @call && prio < 140", N },
		{ "prio < 140 && id == @call", N },
		{ "prio < 140 && id == 505", 0 },
		{ "id == @call && prio >= 140", 0 },
		{ "prio >= 140 && id == @call", 0 },
		{ "id == @call || prio >= 140", N },
		{ "prio >= 140 || id == @call", N },
		{ "id == 505 && prio < 140 || id == @call", N },
		{ "id == 505 && id == @call || prio < 140 && id == @call", N },
		{ "id == @call && prio >= 140 || id == 505", 0 },
		{ "prio >= 140 && id == @call || id == 505 && prio < 140", 0 },
		{ "id == 505 || id == 505 && prio < 140 || prio >= 140 && id == @call", 0 },
	};
	struct frbpf_rule_state st;
	struct detectors *d;
	struct ruleset *rs;
	char text[512];
	uint32_t slot;

	SKIP_UNLESS_POSSIBLE();
	d = open_detectors();
	/*
	 * one rule at a time: the first rule that needs the task fills in its values for all rules
	 */
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(text, sizeof(text),
			 "[rule-r%zu]\nwhen = raw_syscalls:sys_enter\nif = %s\n"
			 "dump = none\ncooldown = 0\n",
			 i, cases[i].condition);
		name_call(text);
		rs = parse_tracepoint_rules(text);
		assert_int_equal(rs->n_rules, 1);
		update(d, rs->rules, 1, &slot);
		assert_int_equal(await(spawn(make_rare_calls, NULL, N)), 0);
		st = state_of(d, slot);
		if (st.matched != cases[i].matched || st.fired != cases[i].matched)
			fail_msg("%s: %u", cases[i].condition, (unsigned int)st.matched);
		ruleset__free(rs);
	}
	detectors__free(d);
}

/*
 * Rules that the prefilter decides, while our own task and another one make hits at the same time.
 */
static void test_own_hits(void **state)
{
	struct rule_conf rules[RULES];
	struct frbpf_rule_state st;
	struct detectors *d;
	const int n = 30000;
	uint32_t slot;
	pid_t child;

	SKIP_UNLESS_POSSIBLE();
	hits(rules);
	rules[OF_EVENT].cooldown.time = HOUR;
	d = open_detectors();
	update(d, &rules[OF_EVENT], 1, &slot);
	child = spawn(make_rare_calls, NULL, n);
	make_rare_calls(NULL, 2 * n);
	assert_int_equal(await(child), 0);
	st = state_of(d, slot);
	assert_int_equal(st.fired, 1);
	assert_int_equal(st.suppressed[FRBPF_CAUSE_COOLDOWN], n - 1);
	assert_int_equal(st.suppressed[FRBPF_CAUSE_SELF], 2 * n);
	detectors__free(d);
}

/*
 * Rules come after others. Once a threshold is not reached, the rules after it are not evaluated.
 */
static void test_thresholds(void **state)
{
	struct rule_conf rules[4];
	struct frbpf_rule_state st;
	uint32_t slots[ARRAY_SIZE(rules)];
	struct detectors *d;

	SKIP_UNLESS_POSSIBLE();
	for (uint64_t i = 0; i < ARRAY_SIZE(rules); i++) {
		rules[i] = syscall_rule(800 + i, RARE_CALL, i == 1 ? HOUR : 0);
		rules[i].quiet = true;
	}
	rules[2].when.keys[RARE_CALL / 64] = 0;
	rules[2].when.keys[NO_CALL / 64] |= 1ULL << NO_CALL % 64;
	add_node(&rules[3], FRBPF_FIELD_PRIO, FRBPF_OP_GE, 140, FRBPF_NODE_END); /* false */
	d = open_detectors();
	update(d, rules, ARRAY_SIZE(rules), slots);
	assert_int_equal(await(spawn(make_rare_calls, NULL, N)), 0);
	st = state_of(d, slots[0]);
	assert_int_equal(st.matched, N);
	assert_int_equal(st.fired, N);
	for (int i = 1; i < 4; i++)
		assert_int_equal(matched(d, slots[i]), 0);
	detectors__free(d);
}

/* That a cooldown lasts is cached for one jiffy. After its end the next match fires. */
static void check_cooldown_ends(struct rule_conf *r)
{
	struct detectors *d = open_detectors();
	struct frbpf_rule_state st;
	uint64_t begin;
	uint32_t slot;

	r->cooldown.time = 1000 * MS;
	update(d, r, 1, &slot);
	begin = now_ns();
	do {
		assert_int_equal(await(spawn(make_rare_calls, NULL, 10)), 0);
		st = state_of(d, slot);
	} while (st.fired < 2 && now_ns() - begin < 60000 * MS);
	assert_int_equal(st.fired, 2);
	assert_in_range(now_ns() - begin, r->cooldown.time, UINT64_MAX);
	assert_int_equal(st.suppressed[FRBPF_CAUSE_COOLDOWN], st.matched - 2);
	detectors__free(d);
}

static void test_cooldown_ends(void **state)
{
	struct rule_conf rules[RULES];

	SKIP_UNLESS_POSSIBLE();
	calls(rules);
	check_cooldown_ends(&rules[OF_EVENT]);
	hits(rules);
	check_cooldown_ends(&rules[OF_EVENT]);
}

static void make_calls_when_asked(struct findings *f, long n)
{
	char c;

	if (read(f->pid, &c, 1) == 1)
		make_rare_calls(NULL, n);
}

/* Two tasks make calls at the same time; one is in the scope. */
static void test_scope(void **state)
{
	struct rule_conf rules[RULES];
	struct frbpf_rule_state st;
	struct findings f = { 0 };
	struct err err = { "" };
	const int n = 30000;
	struct detectors *d;
	pid_t in, out;
	uint32_t slot;
	int go[2];

	SKIP_UNLESS_POSSIBLE();
	assert_int_equal(pipe(go), 0);
	f.pid = go[0];
	in = spawn(make_calls_when_asked, &f, n);
	out = spawn(make_calls_when_asked, &f, n);
	hits(rules);
	rules[OF_EVENT].cooldown.time = HOUR;
	d = open_detectors();
	if (detectors__confine_to_tasks(d, &err) || detectors__include(d, in, &err))
		fail_msg("%s", err.msg);
	update(d, &rules[OF_EVENT], 1, &slot);
	assert_int_equal(write(go[1], "ab", 2), 2);
	assert_int_equal(await(in), 0);
	assert_int_equal(await(out), 0);
	st = state_of(d, slot);
	assert_int_equal(st.matched, n);
	assert_int_equal(st.suppressed[FRBPF_CAUSE_COOLDOWN], n - 1);
	detectors__free(d);
	close(go[0]);
	close(go[1]);
}

#define RARE_SIGNAL (SIGRTMAX - 7)

static void stay(struct findings *f, long arg)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(RARE_SIGNAL, SIG_IGN);
	if (write(arg, "", 1) == 1)
		pause();
}

/*
 * A hit is about its subject, not the current task: hits on ourselves are suppressed, hits on
 * others are not.
 */
static void test_other_subject(void **state)
{
	struct frbpf_rule_state st;
	struct detectors *d;
	struct ruleset *rs;
	const int n = 10000;
	char text[256], c;
	uint32_t slot;
	pid_t child;
	int ready[2];

	SKIP_UNLESS_POSSIBLE();
	assert_int_equal(pipe(ready), 0);
	child = spawn(stay, NULL, ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	snprintf(text, sizeof(text),
		 "[rule-a]\nwhen = signal:signal_generate\nif = sig == %d\ncooldown = 1h\n",
		 RARE_SIGNAL);
	rs = parse_tracepoint_rules(text);
	d = open_detectors();
	update(d, rs->rules, 1, &slot);
	for (int i = 0; i < n; i++)
		assert_int_equal(kill(child, RARE_SIGNAL), 0);
	st = state_of(d, slot);
	assert_int_equal(st.fired, 1);
	assert_int_equal(st.suppressed[FRBPF_CAUSE_COOLDOWN], n - 1);
	detectors__free(d);
	ruleset__free(rs);
	kill(child, SIGKILL);
	assert_int_equal(await(child), -SIGKILL);
	close(ready[0]);
	close(ready[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_hits),
		cmocka_unit_test(test_mixed_conditions),
		cmocka_unit_test(test_own_hits),
		cmocka_unit_test(test_thresholds),
		cmocka_unit_test(test_cooldown_ends),
		cmocka_unit_test(test_scope),
		cmocka_unit_test(test_other_subject),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
