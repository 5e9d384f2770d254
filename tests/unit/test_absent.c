// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules on events that do not come, on the real kernel. Independent of speed: a child says how long
 * it was silent.
 */
#include <sys/prctl.h>

#include "common/clock.h"
#include "syscall_fixture.h"

#define LONG_MS 20000 /* longer than anything here takes */

static struct rule_conf absent_rule(uint64_t id, const char *when, const char *condition)
{
	struct rule_conf r = rule_of(id, when, condition);

	memset(r.when.keys, 0, sizeof(r.when.keys));
	r.when.keys[RARE_CALL / 64] = 1ULL << (RARE_CALL % 64);
	return r;
}

static void call_once(struct findings *f, long arg)
{
	set_name(subject_name());
	f->begin = now_ns();
	syscall(RARE_CALL, 0);
	f->end = now_ns();
}

/*
 * The rule fires once per silence. A silence may begin when the rule is loaded, but a reload begins
 * none. The task that made the last event has ended.
 */
static void test_absent(void **state)
{
	struct findings *f = shared_memory(sizeof(*f));
	struct rule_conf rules[] = { absent_rule(10, "absent(syscall:read) > 40ms", NULL),
				     absent_rule(11, "absent(syscall:read) > 1h", NULL) };
	uint32_t slots[ARRAY_SIZE(rules)];
	uint64_t loaded = now_ns(), heard;
	struct detectors *d;
	struct sink got;

	SKIP_UNLESS_POSSIBLE();
	d = detectors_with(rules, 1, slots);
	got = collect(d, LONG_MS);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.last.flags, FRBPF_TRIGGER_ABSENT);
	assert_int_equal(got.last.source, FRBPF_SOURCE_SYSCALL);
	assert_int_equal(got.last.threshold, 40 * MS);
	assert_int_equal(got.last.subject.tid, 0);
	assert_in_range(got.last.value, 40 * MS + 1, now_ns() - loaded);
	update(d, rules, ARRAY_SIZE(rules), slots);
	assert_int_equal(await(spawn(call_once, f, 0)), 0);
	got = collect(d, LONG_MS);
	assert_int_equal(got.n, 1);
	heard = got.last.time - got.last.value;
	assert_in_range(heard, f->begin, f->end);
	assert_true(got.last.value > 40 * MS);
	assert_int_equal(matched(d, slots[0]), 2);
	detectors__free(d);
	free_rules(rules, ARRAY_SIZE(rules));
	munmap(f, sizeof(*f));
}

/* Results of a child that calls again and again, under another name. */
struct beats {
	uint64_t longest; /* silence, ns */
	uint64_t n;
	bool enough;
};

static int beat(void *arg)
{
	volatile struct beats *b = arg;
	uint64_t last = now_ns(), now;

	set_name("frbpf-beats");
	while (!b->enough) {
		syscall(RARE_CALL, 0);
		b->n++;
		now = now_ns();
		if (now - last > b->longest)
			b->longest = now - last;
		last = now;
	}
	return 0;
}

/* Only events that meet the condition end a silence. */
static void test_absent_under_a_condition(void **state)
{
	struct beats *b = shared_memory(sizeof(*b));
	char named[64], others[64];
	struct rule_conf rules[2];
	uint32_t slots[2];
	struct detectors *d;
	struct sink got;
	pid_t pid;

	SKIP_UNLESS_POSSIBLE();
	snprintf(named, sizeof(named), "comm == \"%s\"", subject_name());
	snprintf(others, sizeof(others), "ppid == %d", getpid());
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* ends with a test that fails */
		_exit(beat(b));
	}
	while (!*(volatile uint64_t *)&b->n)
		usleep(1000);
	rules[0] = absent_rule(10, "absent(syscall:read) > 300ms", named);
	rules[1] = absent_rule(11, "absent(syscall:read) > 200ms", others);
	d = detectors_with(rules, 2, slots);
	do {
		got = collect(d, LONG_MS);
		assert_true(got.n > 0);
	} while (got.last.rule_id != 10);
	if (b->longest < 200 * MS)
		assert_int_equal(matched(d, slots[1]), 0);
	b->enough = true;
	assert_int_equal(await(pid), 0);
	got = collect(d, LONG_MS); /* the child has ended and makes no more events */
	assert_int_equal(got.last.rule_id, 11);
	assert_int_equal(matched(d, slots[0]), 1);
	detectors__free(d);
	free_rules(rules, 2);
	munmap(b, sizeof(*b));
}

/* ---- the very moment ---- */

#define BEATS 80

struct times {
	struct {
		uint64_t begin, end;
	} v[BEATS];
};

/* Silences of 14 to 29 ms; those above the threshold of 20 ms should be found. */
static int beat_at_the_moment(void *arg)
{
	struct times *t = arg;

	set_name(subject_name());
	for (int i = 0; i < BEATS; i++) {
		const struct timespec ts = { .tv_nsec = 14 * MS + (uint64_t)i % 16 * MS };

		t->v[i].begin = now_ns();
		syscall(RARE_CALL, 0);
		t->v[i].end = now_ns();
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL);
	}
	return 0;
}

/* A silence counts only if the next beat ended after the threshold was reached. */
static void assert_silence(const struct times *t, const struct frbpf_trigger *got, uint64_t loaded)
{
	uint64_t heard = got->time - got->value;
	int i = 0;

	while (i < BEATS && t->v[i].end < heard)
		i++;
	if (i == BEATS)
		fail_msg("nothing was heard then");
	if (heard >= t->v[i].begin)
		i++;
	else
		assert_in_range(heard, loaded, t->v[0].begin);
	if (i < BEATS)
		assert_in_range(t->v[i].end, heard + got->threshold, UINT64_MAX);
}

/* A beat that is under way is not taken for absent, and no silence fires twice. */
static void test_the_very_moment(void **state)
{
	struct rule_conf rule = absent_rule(10, "absent(syscall:read) > 20ms", NULL);
	struct times *t = shared_memory(sizeof(*t));
	uint64_t loaded, last = 0;
	struct detectors *d;
	struct sink got;
	uint32_t slot;
	pid_t pid;

	SKIP_UNLESS_POSSIBLE();
	rule.cooldown.time = 0;
	loaded = now_ns();
	d = detectors_with(&rule, 1, &slot);
	assert_int_equal(in_child(beat_at_the_moment, t, &pid), 0);
	got = collect(d, LONG_MS); /* at least the silence after the last beat */
	assert_true(got.n > 0);
	print_message("%d silences of %d\n", got.n, BEATS);
	for (int i = 0; i < got.n && i < (int)ARRAY_SIZE(got.v); i++) {
		assert_silence(t, &got.v[i], loaded);
		assert_true(got.v[i].time - got.v[i].value > last);
		last = got.v[i].time - got.v[i].value;
	}
	detectors__free(d);
	rule_free(&rule);
	munmap(t, sizeof(*t));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_absent),
		cmocka_unit_test(test_absent_under_a_condition),
		cmocka_unit_test(test_the_very_moment),
	};

	test_pid();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
