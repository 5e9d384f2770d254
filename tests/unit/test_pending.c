// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules on what has begun and not ended (pending), and on events that do not come (absent), on the
 * real kernel. Independent of speed: once a look has found a later event, it is known what it found
 * of the earlier ones.
 */
#include <errno.h>
#include <pthread.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "syscall_fixture.h"

#define LONG_MS 20000 /* longer than anything here takes */

/* ---- children that sleep until told to continue ---- */

struct sleeper {
	pid_t pid;
	int go[2]; /* it sleeps at the pipe; or it sleeps in vfork(), and its child at the pipe */
};

static void sleeper__wait(const struct sleeper *s)
{
	char c;

	if (read(s->go[0], &c, 1) < 0)
		_exit(1);
}

/* Run as a child with the name @name. @pid 0: any number; otherwise this one. */
static struct sleeper sleep_as(const char *name, bool uninterruptible, pid_t pid)
{
	struct sleeper s = { 0 };

	assert_int_equal(pipe(s.go), 0);
	s.pid = fork_as(pid);
	assert_true(s.pid >= 0);
	if (s.pid) {
		close(s.go[0]);
		return s;
	}
	close(s.go[1]);
	set_name(name);
	if (uninterruptible && vfork())
		_exit(0);
	set_name(uninterruptible ? "frbpf-vchild" : name);
	sleeper__wait(&s);
	_exit(0);
}

/* Other children may have inherited the pipe, so closing it would wake nobody. */
static void sleeper__end(struct sleeper *s, size_t n)
{
	static const char go[1024];

	assert_int_equal(write(s->go[1], go, n), n);
	close(s->go[1]);
	assert_int_equal(await(s->pid), 0);
}

/* ---- results of looks ---- */

static void await_at_least(const struct detectors *d, uint32_t slot, uint64_t n)
{
	uint64_t end = now_ns() + LONG_MS * MS;

	while (matched(d, slot) < n && now_ns() < end)
		usleep(1000);
	assert_true(matched(d, slot) >= n);
}

static void await_matched(const struct detectors *d, uint32_t slot, uint64_t n)
{
	await_at_least(d, slot, n);
	assert_int_equal(matched(d, slot), n);
}

/*
 * Wait until a look has found a task that falls asleep now. It has then found earlier sleepers,
 * too.
 */
static void await_later_look(struct detectors *d, uint32_t marker_slot)
{
	uint64_t before = matched(d, marker_slot);
	struct sleeper s = sleep_as("frbpf-marker", false, 0);

	await_matched(d, marker_slot, before + 1);
	sleeper__end(&s, 1);
}

static struct rule_conf quiet_rule(uint64_t id, const char *when, const char *condition)
{
	struct rule_conf r = rule_of(id, when, condition);

	r.quiet = true;
	return r;
}

static struct rule_conf marker_rule(pid_t parent)
{
	char condition[96];

	snprintf(condition, sizeof(condition), "comm == \"frbpf-marker\" && ppid == %d && state == S", parent);
	return quiet_rule(1, "pending(offcpu) > 20ms", condition);
}

/* Count the children of this test with its name. */
static struct rule_conf sleeper_rule(uint64_t id, const char *when)
{
	char condition[96];

	snprintf(condition, sizeof(condition), "comm == \"%s\" && ppid == %d%s", subject_name(),
		 getpid(), strstr(when, "offcpu") ? " && state == S" : "");
	return rule_of(id, when, condition);
}

/* ---- the tests ---- */

static void test_fires_while_it_hangs(void **state)
{
	struct rule_conf r = sleeper_rule(10, "pending(blocked) > 30ms");
	struct detectors *d;
	struct sleeper s;
	struct sink got;
	uint64_t begun;
	uint32_t slot;

	SKIP_UNLESS_POSSIBLE();
	d = detectors_with(&r, 1, &slot);
	begun = now_ns();
	s = sleep_as(subject_name(), true, 0);
	got = collect(d, LONG_MS);
	assert_int_equal(got.n, 1);
	assert_int_equal(waitpid(s.pid, NULL, WNOHANG), 0); /* it hangs */
	assert_int_equal(got.last.source, FRBPF_SOURCE_BLOCKED);
	assert_int_equal(got.last.flags, FRBPF_TRIGGER_PENDING | FRBPF_TRIGGER_FOLLOWED);
	assert_int_equal(got.last.subject.tid, s.pid);
	assert_int_equal(got.last.current.tid, s.pid);
	assert_int_equal(got.last.threshold, 30 * MS);
	assert_in_range(got.last.value, 30 * MS + 1, got.last.time - begun);
	/* sent after the trigger, so it may be missing */
	while (!got.n_stacks)
		got = collect(d, LONG_MS);
	assert_int_not_equal(got.stacks.n_kernel, 0);
	assert_int_equal(got.stacks.n_user, 0);
	sleeper__end(&s, 1);
	assert_int_equal(matched(d, slot), 1);
	detectors__free(d);
	rule_free(&r);
}

/* Each fires once, however many looks, reloads and other rules there are. */
static void test_fires_once_for_each(void **state)
{
	struct rule_conf rules[] = {
		marker_rule(getpid()),
		sleeper_rule(10, "pending(offcpu) > 30ms"),
		sleeper_rule(11, "pending(offcpu) > 1h"),
		sleeper_rule(12, "pending(offcpu) > 25ms"),
	};
	struct sleeper first, second;
	uint32_t slots[ARRAY_SIZE(rules)];
	struct detectors *d;

	SKIP_UNLESS_POSSIBLE();
	d = detectors_with(rules, 3, slots);
	first = sleep_as(subject_name(), false, 0);
	await_matched(d, slots[1], 1);
	await_later_look(d, slots[0]);
	assert_int_equal(matched(d, slots[1]), 1);
	update(d, rules, ARRAY_SIZE(rules), slots);
	await_matched(d, slots[3], 1); /* a new rule, and the task hangs already */
	await_later_look(d, slots[0]);
	assert_int_equal(matched(d, slots[1]), 1);
	second = sleep_as(subject_name(), false, 0);
	await_matched(d, slots[1], 2);
	await_matched(d, slots[3], 2);
	sleeper__end(&first, 1);
	sleeper__end(&second, 1);
	assert_int_equal(matched(d, slots[2]), 0);
	detectors__free(d);
	free_rules(rules, ARRAY_SIZE(rules));
}

static void test_reload_keeps_what_is_pending(void **state)
{
	struct rule_conf rules[] = { sleeper_rule(10, "pending(offcpu) > 30ms"),
				     quiet_rule(11, "pending(offcpu) > 1h", NULL) };
	uint32_t slots[ARRAY_SIZE(rules)];
	struct detectors *d;
	struct sleeper s;
	struct sink got;

	SKIP_UNLESS_POSSIBLE();
	d = detectors_with(&rules[1], 1, slots);
	s = sleep_as(subject_name(), false, 0);
	await_sleep(s.pid);
	update(d, rules, ARRAY_SIZE(rules), slots);
	got = collect(d, LONG_MS);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.last.subject.tid, s.pid);
	sleeper__end(&s, 1);
	detectors__free(d);
	free_rules(rules, ARRAY_SIZE(rules));
}

/* A dead task waits only for its parent. */
static void test_dies_while_pending(void **state)
{
	struct rule_conf rules[] = { marker_rule(getpid()),
				     sleeper_rule(10, "pending(offcpu) > 20ms") };
	uint32_t slots[ARRAY_SIZE(rules)];
	struct detectors *d;
	struct sleeper s;
	siginfo_t info;

	SKIP_UNLESS_POSSIBLE();
	d = detectors_with(rules, ARRAY_SIZE(rules), slots);
	s = sleep_as(subject_name(), false, 0);
	await_matched(d, slots[1], 1);
	assert_int_equal(kill(s.pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, s.pid, &info, WEXITED | WNOWAIT), 0);
	await_later_look(d, slots[0]);
	assert_int_equal(matched(d, slots[1]), 1);
	close(s.go[1]);
	assert_int_equal(await(s.pid), -SIGKILL);
	detectors__free(d);
	free_rules(rules, ARRAY_SIZE(rules));
}

/* Another task with the same number is a different subject. */
static void test_number_is_used_again(void **state)
{
	struct rule_conf r = sleeper_rule(10, "pending(offcpu) > 30ms");
	struct sleeper first, second;
	struct detectors *d;
	struct sink got;
	uint32_t slot;

	SKIP_UNLESS_POSSIBLE();
	d = detectors_with(&r, 1, &slot);
	first = sleep_as(subject_name(), false, 0);
	await_matched(d, slot, 1);
	sleeper__end(&first, 1);
	second = sleep_as(subject_name(), false, first.pid);
	await_matched(d, slot, 2);
	got = collect(d, LONG_MS);
	assert_int_equal(got.n, 2);
	assert_int_equal(got.v[0].subject.tid, first.pid);
	assert_int_equal(got.v[1].subject.tid, first.pid);
	/* the second began after the look that found the first */
	assert_true(got.v[1].time - got.v[1].value > got.v[0].time);
	sleeper__end(&second, 1);
	detectors__free(d);
	rule_free(&r);
}

#define CROWD 1000
/*
 * On some virtual machines single switches reach neither a program nor perf: so many of the crowd's
 * may be missing.
 */
#define CROWD_HIDDEN 10

/*
 * Take the name only when nothing but the pipe can make the child sleep: a start may wait as well.
 */
static void *crowd_thread(void *arg)
{
	set_name(subject_name());
	sleeper__wait(arg);
	return NULL;
}

static void crowd_run(struct sleeper *s)
{
	pthread_attr_t small;
	pthread_t t;

	close(s->go[1]);
	s->go[1] = -1;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (int i = 1; i < CROWD; i++) {
		if (pthread_create(&t, &small, crowd_thread, s))
			_exit(2);
	}
	crowd_thread(s);
	_exit(0);
}

static void test_a_thousand_at_once(void **state)
{
	struct rule_conf rules[] = { marker_rule(getpid()),
				     sleeper_rule(10, "pending(offcpu) > 20ms") };
	uint32_t slots[ARRAY_SIZE(rules)];
	struct sleeper s = { 0 };
	struct detectors *d;

	SKIP_UNLESS_POSSIBLE();
	rules[1].quiet = true;
	d = detectors_with(rules, ARRAY_SIZE(rules), slots);
	assert_int_equal(pipe(s.go), 0);
	s.pid = fork();
	assert_true(s.pid >= 0);
	if (!s.pid)
		crowd_run(&s);
	close(s.go[0]);
	await_at_least(d, slots[1], CROWD - CROWD_HIDDEN);
	await_later_look(d, slots[0]);
	assert_in_range(matched(d, slots[1]), CROWD - CROWD_HIDDEN, CROWD);
	sleeper__end(&s, CROWD);
	detectors__free(d);
	free_rules(rules, ARRAY_SIZE(rules));
}

/*
 * Sleep for about the threshold: what is found has really lasted that long, and nothing is found
 * twice.
 */
static void sleep_often(struct findings *f, long n)
{
	struct timespec ts = { 0 };

	set_name(subject_name());
	for (long i = 0; i < n; i++) {
		ts.tv_nsec = 19 * MS + i % 20 * MS / 10;
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL);
	}
}

static void test_ends_in_the_very_moment(void **state)
{
	struct rule_conf rules[] = { sleeper_rule(10, "pending(offcpu) > 20ms"),
				     sleeper_rule(11, "offcpu > 20ms") };
	uint32_t slots[ARRAY_SIZE(rules)];
	struct detectors *d;
	pid_t pids[8];

	SKIP_UNLESS_POSSIBLE();
	rules[0].quiet = rules[1].quiet = true;
	d = detectors_with(rules, ARRAY_SIZE(rules), slots);
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		pids[i] = spawn(sleep_often, NULL, 40);
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		assert_int_equal(await(pids[i]), 0);
	assert_in_range(matched(d, slots[0]), 0, matched(d, slots[1]));
	print_message("%d found while they lasted, of %d\n", (int)matched(d, slots[0]),
		      (int)matched(d, slots[1]));
	detectors__free(d);
	free_rules(rules, ARRAY_SIZE(rules));
}

static void test_system_calls(void **state)
{
	struct rule_conf rules[] = { sleeper_rule(10, "pending(syscall:read) > 20ms"),
				     sleeper_rule(11, "pending(syscall:vfork) > 20ms"),
				     sleeper_rule(12, "syscall:read > 20ms") };
	uint32_t slots[ARRAY_SIZE(rules)];
	struct sleeper reads, forks;
	struct detectors *d;
	struct sink got;

	SKIP_UNLESS_POSSIBLE();
	d = detectors_with(rules, ARRAY_SIZE(rules), slots);
	reads = sleep_as(subject_name(), false, 0);
	got = collect(d, LONG_MS);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.last.rule_id, 10);
	assert_int_equal(got.last.key, SYS_read);
	assert_int_equal(got.last.flags, FRBPF_TRIGGER_PENDING | FRBPF_TRIGGER_FOLLOWED);
	assert_int_equal(got.last.subject.tid, reads.pid);
	forks = sleep_as(subject_name(), true, 0);
	await_matched(d, slots[1], 1);
	assert_int_equal(matched(d, slots[0]), 1);
	assert_int_equal(matched(d, slots[2]), 0);
	sleeper__end(&reads, 1);
	sleeper__end(&forks, 1);
	assert_int_equal(matched(d, slots[0]), 1);
	assert_int_equal(matched(d, slots[2]), 1); /* it has ended: this is for the other rule */
	detectors__free(d);
	free_rules(rules, ARRAY_SIZE(rules));
}

static void call_once(struct findings *f, long arg)
{
	set_name(subject_name());
	f->begin = now_ns();
	syscall(RARE_CALL, 0);
	f->end = now_ns();
}

/* It fires once for each silence, from the load on; a reload begins no new silence. */
static void test_absent(void **state)
{
	struct findings *f = shared_memory(sizeof(*f));
	struct rule_conf r = rule_when(10, "absent(syscall:read) > 40ms", NULL);
	uint64_t loaded = now_ns(), heard;
	struct detectors *d;
	struct sink got;
	uint32_t slot;

	SKIP_UNLESS_POSSIBLE();
	memset(r.when.keys, 0, sizeof(r.when.keys));
	r.when.keys[RARE_CALL / 64] = 1ULL << (RARE_CALL % 64);
	d = detectors_with(&r, 1, &slot);
	got = collect(d, LONG_MS);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.last.flags, FRBPF_TRIGGER_ABSENT);
	assert_int_equal(got.last.source, FRBPF_SOURCE_SYSCALL);
	assert_int_equal(got.last.threshold, 40 * MS);
	assert_int_equal(got.last.subject.tid, 0);
	assert_in_range(got.last.value, 40 * MS + 1, now_ns() - loaded);
	update(d, &r, 1, &slot);
	assert_int_equal(await(spawn(call_once, f, 0)), 0);
	got = collect(d, LONG_MS);
	assert_int_equal(got.n, 1);
	heard = got.last.time - got.last.value;
	assert_in_range(heard, f->begin, f->end);
	assert_true(got.last.value > 40 * MS);
	assert_int_equal(matched(d, slot), 2);
	detectors__free(d);
	rule_free(&r);
	munmap(f, sizeof(*f));
}

/* Events that do not meet the condition do not end a silence; frequent events leave none. */
static void test_absent_under_a_condition(void **state)
{
	struct rule_conf rules[] = { rule_when(10, "absent(sched:sched_process_exec) > 30ms",
					       NULL),
				     rule_of(11, "absent(sched:sched_switch) > 1h", NULL) };
	uint32_t slots[ARRAY_SIZE(rules)];
	struct detectors *d;
	struct sink got;

	SKIP_UNLESS_POSSIBLE();
	d = detectors_with(rules, ARRAY_SIZE(rules), slots);
	got = collect(d, LONG_MS);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.last.rule_id, 10);
	assert_int_equal(matched(d, slots[1]), 0);
	detectors__free(d);
	free_rules(rules, ARRAY_SIZE(rules));
}

static void test_instructions(void **state)
{
	struct rule_conf rules[] = { quiet_rule(10, "pending(runqlat) > 1h", NULL),
				     quiet_rule(11, "pending(syscall:fsync) > 1h", NULL),
				     quiet_rule(12, "pending(reclaim) > 1h", NULL) };
	uint32_t slots[ARRAY_SIZE(rules)];
	struct detectors *d;

	SKIP_UNLESS_POSSIBLE();
	d = detectors_with(rules, ARRAY_SIZE(rules), slots);
	assert_true(check_instructions("waits_look") > 0);
	assert_true(check_instructions("sc_look") > 0);
	assert_true(check_instructions("rc_look") > 0);
	assert_true(check_instructions("look_end") > 0);
	detectors__free(d);
	free_rules(rules, ARRAY_SIZE(rules));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fires_while_it_hangs),
		cmocka_unit_test(test_fires_once_for_each),
		cmocka_unit_test(test_reload_keeps_what_is_pending),
		cmocka_unit_test(test_dies_while_pending),
		cmocka_unit_test(test_number_is_used_again),
		cmocka_unit_test(test_a_thousand_at_once),
		cmocka_unit_test(test_ends_in_the_very_moment),
		cmocka_unit_test(test_system_calls),
		cmocka_unit_test(test_absent),
		cmocka_unit_test(test_absent_under_a_condition),
		cmocka_unit_test(test_instructions),
	};

	test_pid();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
