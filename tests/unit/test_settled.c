// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hits of probes that are settled before a match is filled, against those that go through the engine: what matches, what
 * fires, and what holds it back is the same. Skips without root, BTF or uprobes.
 * with: others
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/clock.h"
#include "rules/rate.h"
#include "user_probe_fixture.h"

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

/* Where the gate decides: what is our own is told from what is not, at the same time. */
static void test_settled_own(void **state)
{
	struct rule_conf r = rule_when(1, "uprobe:SELF:watched_six", "arg1 == -1");
	struct frbpf_rule_state st;
	struct detectors *d;
	const int n = 10000;
	uint32_t slot;
	pid_t child;

	SKIP_UNLESS_UPROBES();
	r.cooldown.window = HOUR;
	d = open_detectors();
	update(d, &r, 1, &slot);
	child = spawn(run_six, NULL, n);
	run_six(NULL, 2 * n);
	await_success(child);
	st = state_of(d, slot);
	assert_int_equal(st.fired, 1);
	assert_int_equal(st.suppressed[FRBPF_CAUSE_COOLDOWN], n - 1);
	assert_int_equal(st.suppressed[FRBPF_CAUSE_SELF], 2 * n);
	detectors__free(d);
	free_rules(&r, 1);
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
	r.cooldown.window = draw(2) ? HOUR : 0; /* what it holds back has matched */
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
	for (int i = 0; i < 100; i++)
		check_conditions(d, 1, 0);
	detectors__free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_settled),
		cmocka_unit_test(test_settled_others),
		cmocka_unit_test(test_settled_own),
		cmocka_unit_test(test_random_conditions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
