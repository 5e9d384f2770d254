// SPDX-License-Identifier: GPL-2.0-only
/*
 * Thresholds that follow the workload: with made-up values and times, and with system calls of the
 * running kernel. Skips what needs root or kernel BTF.
 * with: others
 */
#include <time.h>

#include "inject_fixture.h"
#include "syscall_fixture.h"

#define WEEK (7 * 86400 * 1000 * MS) /* too long for the timer to fire */

static struct rule_conf learning_rule(uint64_t id, const char *when, uint64_t window)
{
	struct rule_conf r = rule_of(id, when, NULL);

	r.when.learn.time = window;
	r.learn_id = 7;
	return r;
}

struct course {
	struct bench b;
	uint64_t now;
};

static struct course course_open(const struct rule_conf *r, const struct past *past)
{
	struct course c = { .b = bench_open(r, 1) };

	assert_int_equal(learners__give(c.b.d->learners, 0, r, past), 0);
	c.now = now_ns(); /* after the start of the first slice */
	return c;
}

static void next_slice(struct course *c)
{
	c->now += WEEK / PAST_SLICES + MS;
	learners__advance(c->b.d->learners, c->now);
}

/* How often the rule fires on @n values. */
static int inject_values(struct course *c, uint64_t value, int n)
{
	struct frbpf_event e = { .time = now_ns(), .value = value, .source = FRBPF_SOURCE_APP };
	int fired = 0;

	for (int i = 0; i < n; i++)
		fired += fire(&c->b, &e);
	return fired;
}

static struct learnt learnt(const struct course *c)
{
	struct learnt v;

	assert_true(detectors__learnt(c->b.d, 0, &v));
	return v;
}

/* Equal, to within an eighth. */
static void assert_about(uint64_t value, uint64_t expected)
{
	assert_in_range(value, expected - expected / 8, expected + expected / 8);
}

static void test_learns(void **state)
{
	struct rule_conf r = learning_rule(1, "app:x > p90 * 2", WEEK);
	struct course c;

	SKIP_UNLESS_POSSIBLE();
	c = course_open(&r, NULL);
	assert_int_equal(inject_values(&c, 1 * MS, 98), 0);
	assert_int_equal(inject_values(&c, 1000 * MS, 1), 0); /* nothing is learnt yet */
	next_slice(&c);
	assert_int_equal(learnt(&c).values, 99);
	assert_int_equal(learnt(&c).limit, 0);
	/* the values of the current slice are not used either */
	assert_int_equal(inject_values(&c, 1000 * MS, 1), 0);
	next_slice(&c);
	assert_int_equal(learnt(&c).values, 100);
	assert_about(learnt(&c).percentile, 1 * MS);
	assert_int_equal(learnt(&c).limit, 2 * learnt(&c).percentile);
	assert_int_equal(inject_values(&c, learnt(&c).limit, 1), 0);
	assert_int_equal(inject_values(&c, learnt(&c).limit + 1, 1), 1);
	assert_int_equal(c.b.last.threshold, learnt(&c).limit);
	assert_int_equal(state_of(c.b.d, 0).matched, 1); /* values below the limit do not match */
	bench_close(&c.b);
	rule_free(&r);
}

/* The limit is the percentile, whatever the distribution of the values. */
static void test_percentile(void **state)
{
	struct rule_conf r = learning_rule(1, "app:x > p90 * 1", WEEK);
	struct course c;

	SKIP_UNLESS_POSSIBLE();
	c = course_open(&r, NULL);
	for (int i = 1; i <= 1000; i++)
		inject_values(&c, (uint64_t)i * i * 1000, 1); /* 810000 us is value number 900 */
	next_slice(&c);
	assert_about(learnt(&c).percentile, 810 * MS);
	bench_close(&c.b);
	rule_free(&r);
}

static void test_least(void **state)
{
	struct rule_conf r = learning_rule(1, "app:x > max(p50 * 1.5, 5ms)", WEEK);
	struct course c;

	SKIP_UNLESS_POSSIBLE();
	c = course_open(&r, NULL);
	inject_values(&c, 1 * MS, 20);
	next_slice(&c);
	assert_int_equal(learnt(&c).limit, 5 * MS);
	assert_int_equal(inject_values(&c, 5 * MS, 1), 0);
	assert_int_equal(inject_values(&c, 5 * MS + 1, 1), 1);
	inject_values(&c, 100 * MS, 200);
	next_slice(&c);
	assert_about(learnt(&c).limit, 150 * MS);
	bench_close(&c.b);
	rule_free(&r);
}

/* Values count for ten slices. The limit stays until there are enough new ones. */
static void test_forgets(void **state)
{
	struct rule_conf r = learning_rule(1, "app:x > p50 * 2", WEEK);
	struct course c;

	SKIP_UNLESS_POSSIBLE();
	c = course_open(&r, NULL);
	inject_values(&c, 1 * MS, 100);
	next_slice(&c);
	inject_values(&c, 100 * MS, 15); /* too few alone */
	for (int i = 0; i < PAST_SLICES - 1; i++)
		next_slice(&c);
	assert_int_equal(learnt(&c).values, 15);
	assert_about(learnt(&c).percentile, 1 * MS); /* the percentile when all values were there */
	next_slice(&c);
	assert_about(learnt(&c).percentile, 1 * MS);
	assert_int_equal(learnt(&c).values, 0);
	inject_values(&c, 100 * MS, 20);
	next_slice(&c);
	assert_about(learnt(&c).percentile, 100 * MS);
	bench_close(&c.b);
	rule_free(&r);
}

/* A cooldown per process does not count a value twice. */
static void test_counts_once(void **state)
{
	struct rule_conf r = learning_rule(1, "app:x > p50 * 1", WEEK);
	struct course c;

	SKIP_UNLESS_POSSIBLE();
	r.cooldown = (struct rate){ .time = 60000 * MS, .per = FRBPF_PER_PROCESS };
	c = course_open(&r, NULL);
	inject_values(&c, 1 * MS, 20);
	next_slice(&c);
	assert_int_equal(inject_values(&c, 3 * MS, 5), 1);
	assert_int_equal(learnt(&c).values, 25);
	bench_close(&c.b);
	rule_free(&r);
}

/* What one process of frbpf passes to the next. */
struct kept {
	struct past_learnt p;
	struct past_bucket buckets[PAST_SLICES * FRBPF_LEARN_BUCKETS];
};

static void keep_past(const struct past_learnt *p, void *arg)
{
	struct kept *k = arg;

	k->p = *p;
	memcpy(k->buckets, p->buckets, p->n_buckets * sizeof(*p->buckets));
	k->p.buckets = k->buckets;
}

static void test_restart(void **state)
{
	struct rule_conf r = learning_rule(1, "app:x > p90 * 2", WEEK);
	struct kept *k = calloc(1, sizeof(*k));
	struct past past = { .learnt = &k->p, .n_learnt = 1 };
	struct course c;
	struct learnt before;

	SKIP_UNLESS_POSSIBLE();
	c = course_open(&r, NULL);
	inject_values(&c, 3 * MS, 60);
	next_slice(&c);
	inject_values(&c, 5 * MS, 60);
	next_slice(&c);
	before = learnt(&c);
	assert_int_equal(detectors__each_learnt(c.b.d, keep_past, k), 0);
	bench_close(&c.b);
	c = course_open(&r, &past);
	assert_int_equal(learnt(&c).values, 120);
	assert_int_equal(learnt(&c).limit, before.limit);
	assert_int_equal(inject_values(&c, before.limit, 1), 0);
	assert_int_equal(inject_values(&c, before.limit + 1, 1), 1);
	bench_close(&c.b);
	/* a rule with another id has not learnt that */
	r.learn_id = 8;
	c = course_open(&r, &past);
	assert_int_equal(learnt(&c).limit, 0);
	bench_close(&c.b);
	rule_free(&r);
	free(k);
}

/* ---- system calls ---- */

/* Sleep for no time, again and again. When told, sleep for f->begin ns. */
static void sleep_as_told(struct findings *f, long arg)
{
	struct timespec ts = { 0 };
	uint64_t ns;

	set_name(subject_name());
	while (!(ns = __atomic_load_n(&f->begin, __ATOMIC_SEQ_CST)))
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL);
	ts = (struct timespec){ ns / (1000 * MS), ns % (1000 * MS) };
	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL);
}

static struct learnt await_learnt(const struct detectors *d, uint32_t slot)
{
	uint64_t end = now_ns() + 60000 * MS;
	struct learnt v;

	do {
		assert_true(now_ns() < end);
		usleep(1000);
		assert_true(detectors__learnt(d, slot, &v));
	} while (!v.limit);
	return v;
}

/* The trigger with the largest value. */
static struct frbpf_trigger largest(struct detectors *d)
{
	struct sink s = collect(d, 0);

	for (int i = 0; i < s.n && i < (int)ARRAY_SIZE(s.v); i++) {
		assert_true(s.v[i].value > s.v[i].threshold);
		if (s.v[i].value > s.last.value)
			s.last = s.v[i];
	}
	return s.last;
}

/*
 * Learning needs no calls of the test. A reload, even with a changed rule, continues with what is
 * known.
 */
static void test_system_calls(void **state)
{
	struct rule_conf rules[] = { rule_when(10, "syscall:clock_nanosleep > p90 * 4", NULL) };
	struct findings *f = shared_memory(sizeof(*f));
	struct frbpf_trigger t;
	struct detectors *d;
	struct learnt v;
	uint32_t slot;
	pid_t pid;

	SKIP_UNLESS_POSSIBLE();
	rules[0].when.learn.time = 1000 * MS;
	rules[0].cooldown = (struct rate){ .time = 100 * MS };
	d = detectors_with(rules, 1, &slot);
	pid = spawn(sleep_as_told, f, 0);
	v = await_learnt(d, slot);
	assert_true(v.values >= 100);
	update(d, rules, 1, &slot);
	assert_true(detectors__learnt(d, slot, &v) && v.limit);
	rules[0].id = 11;
	rules[0].when.learn.factor = 800;
	rules[0].cooldown.time = 0;
	update(d, rules, 1, &slot);
	assert_true(detectors__learnt(d, slot, &v) && v.limit);
	largest(d);
	__atomic_store_n(&f->begin, 10 * v.limit + 50 * MS, __ATOMIC_SEQ_CST);
	assert_int_equal(await(pid), 0);
	t = largest(d);
	assert_int_equal(t.rule_id, 11);
	assert_int_equal(t.subject.tid, pid);
	assert_true(t.value > 10 * v.limit + 50 * MS);
	detectors__free(d);
	free_rules(rules, 1);
	munmap(f, sizeof(*f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_learns),	     cmocka_unit_test(test_percentile),
		cmocka_unit_test(test_least),	     cmocka_unit_test(test_forgets),
		cmocka_unit_test(test_counts_once),  cmocka_unit_test(test_restart),
		cmocka_unit_test(test_system_calls),
	};

	test_pid();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
