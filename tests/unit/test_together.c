// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules about other rules, on system calls and exits of processes of the running kernel. Skips what
 * needs root or kernel BTF.
 * with: others
 */
#include "rules/rule_units.h"
#include "inject_fixture.h"
#include "syscall_fixture.h"

#define A 10
#define B 11
#define C 12

/* A rule on calls under the subject's name with @suffix. */
static struct rule_conf call_rule(uint64_t id, const char *suffix)
{
	struct rule_conf r = syscall_rule(id, RARE_CALL, 0);
	char name[FRBPF_COMM_LEN];

	r.when.fails = r.when.any_errno = true;
	snprintf(name, sizeof(name), "%.13s%s", subject_name(), suffix);
	add_name(&r, FRBPF_FIELD_COMM, FRBPF_OP_EQ, name, FRBPF_NODE_END);
	r.quiet = true;
	return r;
}

/* A rule about rules A and B, in this order if it has an order. */
static struct rule_conf rule_about(const char *when)
{
	struct rule_conf r = rule_of(C, when, NULL);

	r.when.parts.v[0].id = A;
	r.when.parts.v[1].id = B;
	return r;
}

static void call_as(struct findings *f, long suffix)
{
	char name[FRBPF_COMM_LEN];

	snprintf(name, sizeof(name), "%.13s%s", subject_name(), suffix == A ? "a" : "b");
	set_name(name);
	f->begin = now_ns();
	syscall(RARE_CALL, 0);
	f->end = now_ns();
}

struct calls {
	struct rule_conf rules[3];
	uint32_t slots[3];
	struct detectors *d;
	struct findings *f;
};

static struct calls calls_open(const char *when)
{
	struct calls c = { { rule_about(when), call_rule(A, "a"), call_rule(B, "b") } };

	c.f = shared_memory(sizeof(*c.f));
	c.d = detectors_with(c.rules, 3, c.slots);
	return c;
}

/* How often the rule about both fires when @who calls. The last trigger goes to *@ret. */
static int call(struct calls *c, long who, struct frbpf_trigger *ret)
{
	struct sink s;

	assert_int_equal(await(spawn(call_as, c->f, who)), 0);
	s = collect(c->d, 0);
	if (s.n) {
		assert_int_equal(s.last.rule_id, C);
		*ret = s.last;
	}
	return s.n;
}

static void calls_close(struct calls *c)
{
	detectors__free(c->d);
	free_rules(c->rules, 3);
	munmap(c->f, sizeof(*c->f));
}

static void test_then(void **state)
{
	struct frbpf_trigger t;
	struct findings first;
	struct calls c;

	SKIP_UNLESS_POSSIBLE();
	c = calls_open("rule:a then rule:b within 1h");
	assert_int_equal(call(&c, B, &t), 0);
	assert_int_equal(call(&c, A, &t), 0);
	first = *c.f;
	assert_int_equal(call(&c, B, &t), 1);
	assert_in_range(t.time, c.f->begin, c.f->end);
	assert_string_equal(t.subject.comm + strlen(t.subject.comm) - 1, "b");
	assert_in_range(t.parts[0].time, first.begin, first.end);
	assert_int_equal(t.parts[0].slot, c.slots[1]);
	assert_string_equal(t.parts[0].subject.comm + strlen(t.parts[0].subject.comm) - 1, "a");
	assert_int_equal(t.parts[1].time, 0);
	assert_int_equal(matched(c.d, c.slots[0]), 1);
	assert_int_equal(matched(c.d, c.slots[1]), 1);
	assert_int_equal(matched(c.d, c.slots[2]), 2);
	/* a reload in between */
	update(c.d, c.rules, 3, c.slots);
	assert_int_equal(call(&c, B, &t), 1);
	assert_in_range(t.parts[0].time, first.begin, first.end);
	calls_close(&c);
}

static void test_all_of(void **state)
{
	struct frbpf_trigger t;
	struct calls c;

	SKIP_UNLESS_POSSIBLE();
	c = calls_open("all of rule:a, rule:b within 1h");
	assert_int_equal(call(&c, B, &t), 0);
	assert_int_equal(call(&c, A, &t), 1);
	assert_int_equal(t.parts[0].slot, c.slots[2]);
	assert_int_equal(call(&c, B, &t), 1);
	assert_int_equal(t.parts[0].slot, c.slots[1]);
	assert_int_equal(matched(c.d, c.slots[0]), 2);
	calls_close(&c);
}

static void test_too_late(void **state)
{
	struct frbpf_trigger t;
	struct calls c;

	SKIP_UNLESS_POSSIBLE();
	c = calls_open("rule:a then rule:b within 1us");
	for (int i = 0; i < 3; i++) {
		assert_int_equal(call(&c, A, &t), 0);
		assert_int_equal(call(&c, B, &t), 0);
	}
	assert_int_equal(matched(c.d, c.slots[0]), 0);
	calls_close(&c);
}

/*
 * Matches of a part count even if its limits suppress them, except while its `count` is not
 * reached.
 */
static void test_limits_of_parts(void **state)
{
	struct frbpf_trigger t;
	struct calls c;

	SKIP_UNLESS_POSSIBLE();
	c = calls_open("rule:a then rule:b within 1h");
	c.rules[1].count = (struct rate){ .n = 2, .time = 3600000 * MS };
	c.rules[2].cooldown = (struct rate){ .time = 3600000 * MS };
	c.rules[1].id = A; /* its slot is the same, and so is the state */
	update(c.d, c.rules, 3, c.slots);
	assert_int_equal(call(&c, A, &t), 0);
	assert_int_equal(call(&c, B, &t), 0);
	assert_int_equal(call(&c, A, &t), 0);
	assert_int_equal(call(&c, B, &t), 1);
	assert_int_equal(state_of(c.d, c.slots[2]).suppressed[FRBPF_CAUSE_COOLDOWN], 1);
	calls_close(&c);
}

/* A process that makes calls, then exits: a rule on failed calls, and one on a tracepoint. */
static void test_of_two_sources(void **state)
{
	struct rule_conf rules[] = { rule_about("rule:a then rule:b within 1h"), call_rule(A, "a"),
				     rule_of(B, "sched:sched_process_exit", NULL) };
	struct findings *f = shared_memory(sizeof(*f));
	uint32_t slots[ARRAY_SIZE(rules)];
	struct detectors *d;
	struct sink s;
	char name[FRBPF_COMM_LEN];
	pid_t pid;

	SKIP_UNLESS_POSSIBLE();
	snprintf(name, sizeof(name), "%.13sa", subject_name());
	add_name(&rules[2], FRBPF_FIELD_COMM, FRBPF_OP_EQ, name, FRBPF_NODE_END);
	rules[2].cooldown.time = 3600000 * MS;
	rules[2].quiet = true;
	d = detectors_with(rules, ARRAY_SIZE(rules), slots);
	for (int i = 0; i < 2; i++) {
		pid = spawn(call_as, f, A);
		assert_int_equal(await(pid), 0);
		s = collect(d, 0);
		assert_int_equal(s.n, 1);
		assert_int_equal(s.last.rule_id, C);
		assert_int_equal(s.last.source, FRBPF_SOURCE_TRACEPOINT);
		assert_int_equal(s.last.subject.tid, pid);
		assert_int_equal(s.last.parts[0].subject.tid, pid);
		assert_in_range(s.last.parts[0].time, f->begin, f->end);
	}
	assert_int_equal(await(spawn(call_as, f, B)), 0);
	assert_int_equal(collect(d, 0).n, 0);
	detectors__free(d);
	free_rules(rules, ARRAY_SIZE(rules));
	munmap(f, sizeof(*f));
}

/* ---- the very moment: made-up events ---- */

static struct rule_conf key_rule(uint64_t id, const char *condition)
{
	struct rule_conf r = rule_of(id, "app:x", condition);

	r.quiet = true;
	return r;
}

static int inject_at(struct bench *b, uint64_t time, uint32_t cpu)
{
	struct frbpf_event e = { .time = time, .cpu = cpu, .source = FRBPF_SOURCE_APP };

	return fire(b, &e);
}

/* `within` includes its last nanosecond. `then` excludes equal times. */
static void check_moments(const char *when, int at_once)
{
	struct rule_conf rules[] = { rule_about(when), key_rule(A, "cpu == 1"),
				     key_rule(B, "cpu == 2") };
	const uint32_t slots[ARRAY_SIZE(rules)] = { 0, 1, 2 };
	const uint64_t within = 1000 * MS, t = now_ns() - 3 * within;
	struct rule_units all = { 0 };
	struct err err = { "" };
	struct bench b;

	assert_int_equal(rule_units__make(rules, ARRAY_SIZE(rules), slots, &all, &err), 0);
	b = bench_open_at(all.v, all.n, all.slots);
	assert_int_equal(inject_at(&b, t, 1), 0);
	assert_int_equal(inject_at(&b, t, 2), at_once);
	assert_int_equal(inject_at(&b, t + 1, 2), 1);
	assert_int_equal(inject_at(&b, t + within, 2), 1);
	assert_int_equal(b.last.parts[0].time, t);
	assert_int_equal(inject_at(&b, t + within + 1, 2), 0);
	bench_close(&b);
	rule_units__free(&all);
	free_rules(rules, ARRAY_SIZE(rules));
}

static void test_the_very_moment(void **state)
{
	SKIP_UNLESS_POSSIBLE();
	check_moments("rule:a then rule:b within 1s", 0);
	check_moments("all of rule:a, rule:b within 1s", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_then),	       cmocka_unit_test(test_all_of),
		cmocka_unit_test(test_too_late),       cmocka_unit_test(test_limits_of_parts),
		cmocka_unit_test(test_of_two_sources), cmocka_unit_test(test_the_very_moment),
	};

	test_pid();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
