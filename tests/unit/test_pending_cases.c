// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hard cases of pending events, for one source after the other, on the running kernel: events
 * that end in the very moment of the threshold, a thousand at once, a number of a task that is used
 * again, a task that dies, a reload in between. test_pending.c has them for `offcpu`,
 * test_pending_tables.c and test_probe_spans.c have most of them for calls and spans.
 * with: others
 */
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "memory_group.h"
#include "pending_fixture.h"
#include "user_probe_fixture.h"

WATCHED void watched_begin(void);
WATCHED void watched_begin(void)
{
	__asm__ volatile("" ::: "memory");
}

WATCHED void watched_end(void);
WATCHED void watched_end(void)
{
	__asm__ volatile("" ::: "memory");
}

/* ---- the sources: how a child hangs in them, and how it is in them for a time ---- */

static void rest(long ns)
{
	const struct timespec ts = { 0, ns };

	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL);
}

static long hang_in_call(long unused, long fd)
{
	char c;

	return syscall(SYS_read, (int)fd, &c, 1);
}

/* The parent of a vfork() is in uninterruptible sleep until the child has ended. */
static long hang_blocked(long unused, long fd)
{
	signal(SIGCHLD, SIG_IGN);
	if (vfork())
		return 0;
	hang_in_call(0, fd);
	_exit(0);
}

static void rest_blocked(long ns)
{
	signal(SIGCHLD, SIG_IGN);
	if (vfork())
		return;
	rest(ns);
	_exit(0);
}

static void rest_in_span(long ns)
{
	watched_begin();
	rest(ns);
	watched_end();
}

#define CALLS_AS_SPANS "raw_syscalls:sys_enter -> raw_syscalls:sys_exit by tid"
#define PLACES	       "uprobe:SELF:watched_begin -> uprobe:SELF:watched_end by tid"

struct source {
	const char *when;
	long (*hang)(long what, long fd); /* NULL: other tests have these cases */
	void (*rest)(long ns);
};

static const struct source sources[] = {
	{ "syscall:read,clock_nanosleep", hang_in_call, rest },
	{ "blocked", hang_blocked, rest_blocked },
	{ CALLS_AS_SPANS, NULL, rest },
	{ PLACES, NULL, rest_in_span },
};

/* A rule of this test's children: @before SOURCE @behind, with our program for each "SELF". */
static struct rule_conf rule_on(uint64_t id, const char *before, const char *source,
				const char *behind)
{
	char text[2 * PATH_MAX + 256], condition[64], *to = text;
	const char *self;

	to += sprintf(to, "%s", before);
	for (; (self = strstr(source, "SELF")); source = self + 4)
		to += sprintf(to, "%.*s%s", (int)(self - source), source, own_path());
	sprintf(to, "%s%s", source, behind);
	snprintf(condition, sizeof(condition), "comm == \"%s\"", subject_name());
	return rule_of(id, text, condition);
}

/* ---- the cases ---- */

struct resting {
	void (*rest)(long ns);
	long n;
};

static struct resting resting;

static void rest_often(struct findings *f, long unused)
{
	set_name(subject_name());
	for (long i = 0; i < resting.n; i++)
		resting.rest(19 * MS + i % 20 * MS / 10);
}

/* What is found has really lasted that long, and nothing is found twice. */
static void check_the_very_moment(const struct source *s)
{
	struct rule_conf rules[] = { rule_on(10, "pending(", s->when, ") > 20ms"),
				     rule_on(11, "", s->when, " > 20ms") };
	uint32_t slots[ARRAY_SIZE(rules)];
	struct detectors *d;
	pid_t pids[8];

	rules[0].quiet = rules[1].quiet = true;
	resting = (struct resting){ s->rest, 20 };
	d = detectors_with(rules, ARRAY_SIZE(rules), slots);
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		pids[i] = spawn(rest_often, NULL, 0);
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		assert_int_equal(await(pids[i]), 0);
	print_message("%s: %d found while they lasted, of %d\n", s->when, (int)matched(d, slots[0]),
		      (int)matched(d, slots[1]));
	assert_in_range(matched(d, slots[0]), 0, matched(d, slots[1]));
	assert_true(matched(d, slots[1]) > 0);
	detectors__free(d);
	free_rules(rules, ARRAY_SIZE(rules));
}

static void test_ends_in_the_very_moment(void **state)
{
	SKIP_UNLESS_UPROBES();
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		check_the_very_moment(&sources[i]);
}

/* It has died, and is not found again. Another task with its number is another event. */
static void check_death_and_reuse(const struct source *s)
{
	struct rule_conf r = rule_on(10, "pending(", s->when, ") > 100ms");
	struct hanger first, second;
	struct detectors *d;
	struct sink got;
	uint32_t slot;

	d = detectors_with(&r, 1, &slot);
	first = hang_in(s->hang, 0, 0);
	await_matched(d, slot, 1);
	assert_int_equal(kill(first.pid, SIGKILL), 0);
	assert_int_equal(await(first.pid), -SIGKILL);
	second = hang_in(s->hang, 0, first.pid);
	await_matched(d, slot, 2); /* a later look */
	got = collect(d, LONG_MS);
	assert_int_equal(got.n, 2);
	assert_int_equal(got.v[0].subject.tid, first.pid);
	assert_int_equal(got.v[1].subject.tid, first.pid);
	assert_true(got.v[1].time - got.v[1].value > got.v[0].time);
	hanger__end(&second, 1);
	close(first.go[1]);
	detectors__free(d);
	rule_free(&r);
}

static void test_dies_and_its_number_is_used_again(void **state)
{
	SKIP_UNLESS_UPROBES();
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		if (sources[i].hang)
			check_death_and_reuse(&sources[i]);
	}
}

static void check_reload(const struct source *s)
{
	struct rule_conf rules[] = { rule_on(10, "pending(", s->when, ") > 100ms"),
				     rule_on(11, "pending(", s->when, ") > 1h") };
	uint32_t slots[ARRAY_SIZE(rules)];
	struct frbpf_ended end;
	struct detectors *d;
	struct hanger h;
	struct sink got;

	d = detectors_with(&rules[1], 1, slots);
	h = hang_in(s->hang, 0, 0);
	await_sleep(h.pid);
	update(d, rules, ARRAY_SIZE(rules), slots);
	got = collect(d, LONG_MS);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.last.subject.tid, h.pid);
	update(d, rules, ARRAY_SIZE(rules), slots);
	hanger__end(&h, 1);
	end = await_end(d);
	assert_int_equal(end.of.begin, got.last.time - got.last.value);
	assert_int_equal(matched(d, slots[0]), 1);
	detectors__free(d);
	free_rules(rules, ARRAY_SIZE(rules));
}

static void test_reload_keeps_what_is_pending(void **state)
{
	SKIP_UNLESS_UPROBES();
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		if (sources[i].hang)
			check_reload(&sources[i]);
	}
}

#define CROWD 1000
/* On some virtual machines single switches reach no program: see test_pending.c. */
#define CROWD_HIDDEN 10

struct crowd {
	const struct source *source;
	int fd;
};

static void *crowd_thread(void *arg)
{
	const struct crowd *c = arg;

	set_name(subject_name());
	c->source->hang(0, c->fd);
	return NULL;
}

static void crowd_run(struct crowd *c)
{
	pthread_attr_t small;
	pthread_t t;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (int i = 1; i < CROWD; i++) {
		if (pthread_create(&t, &small, crowd_thread, c))
			_exit(2);
	}
	crowd_thread(c);
	_exit(0);
}

static void check_a_thousand(const struct source *s)
{
	struct rule_conf r = rule_on(10, "pending(", s->when, ") > 30ms");
	struct crowd c = { .source = s };
	struct hanger h = { 0 };
	struct detectors *d;
	uint32_t slot;

	r.quiet = true;
	d = detectors_with(&r, 1, &slot);
	assert_int_equal(pipe(h.go), 0);
	c.fd = h.go[0];
	h.pid = fork();
	assert_true(h.pid >= 0);
	if (!h.pid)
		crowd_run(&c);
	close(h.go[0]);
	await_at_least(d, slot, CROWD - CROWD_HIDDEN);
	hanger__end(&h, CROWD);
	if (s->hang != hang_blocked) /* they may wait for a lock of their memory as well */
		assert_in_range(matched(d, slot), CROWD - CROWD_HIDDEN, CROWD);
	detectors__free(d);
	rule_free(&r);
}

static void test_a_thousand_at_once(void **state)
{
	SKIP_UNLESS_UPROBES();
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		if (sources[i].hang)
			check_a_thousand(&sources[i]);
	}
}

/* ---- waits for a CPU, and searches for memory: they cannot be held up at will ---- */

/* Share one CPU, so that each waits for it again and again. */
static void share_cpu(struct findings *f, long cpu)
{
	uint64_t end = now_ns() + 400 * MS;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		_exit(1);
	set_name(subject_name());
	while (now_ns() < end)
		;
}

static void test_waits_for_a_cpu(void **state)
{
	struct rule_conf rules[] = { rule_on(10, "pending(", "runqlat", ") > 1ms"),
				     rule_on(11, "", "runqlat", " > 1ms") };
	uint32_t slots[ARRAY_SIZE(rules)];
	struct detectors *d;
	pid_t pids[6];

	SKIP_UNLESS_POSSIBLE();
	rules[0].quiet = rules[1].quiet = true;
	d = detectors_with(rules, ARRAY_SIZE(rules), slots);
	while (!matched(d, slots[0])) {
		for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
			pids[i] = spawn(share_cpu, NULL, sysconf(_SC_NPROCESSORS_ONLN) - 1);
		for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
			assert_int_equal(await(pids[i]), 0);
	}
	print_message("%d found while they lasted, of %d\n", (int)matched(d, slots[0]),
		      (int)matched(d, slots[1]));
	assert_in_range(matched(d, slots[0]), 1, matched(d, slots[1]));
	detectors__free(d);
	free_rules(rules, ARRAY_SIZE(rules));
}

static int read_much(void *arg)
{
	char name[] = "/var/tmp/frbpf-mem-XXXXXX", pid[16];
	static char buf[1 << 16];
	int fd = mkostemp(name, O_CLOEXEC);

	set_name(subject_name());
	snprintf(pid, sizeof(pid), "%d", getpid());
	if (fd < 0)
		return 1;
	unlink(name);
	if (memory_group_write(arg, "cgroup.procs", pid) || ftruncate(fd, 64 << 20))
		return 1;
	while (read(fd, buf, sizeof(buf)) > 0)
		;
	return 0;
}

static void test_searches_for_memory(void **state)
{
	struct rule_conf rules[] = { rule_on(10, "pending(", "reclaim", ") > 1us"),
				     rule_on(11, "", "reclaim", " > 1us") };
	uint32_t slots[ARRAY_SIZE(rules)];
	struct memory_group group;
	struct detectors *d;
	pid_t pid;

	SKIP_UNLESS_POSSIBLE();
	SKIP_IF(memory_group_make(&group, "8388608"), "no memory controller of cgroups");
	rules[1].quiet = true;
	d = detectors_with(rules, ARRAY_SIZE(rules), slots);
	for (int i = 0; i < 50 && !matched(d, slots[0]); i++)
		assert_int_equal(in_child(read_much, &group, &pid), 0);
	memory_group_remove(&group);
	print_message("%d found while they lasted, of %d\n", (int)matched(d, slots[0]),
		      (int)matched(d, slots[1]));
	if (matched(d, slots[1])) {
		struct sink got = collect(d, LONG_MS);

		assert_in_range(matched(d, slots[0]), 1, matched(d, slots[1]));
		assert_int_equal(got.last.source, FRBPF_SOURCE_RECLAIM);
		assert_true(got.last.flags & FRBPF_TRIGGER_PENDING);
		assert_string_equal(got.last.subject.comm, subject_name());
	}
	detectors__free(d);
	free_rules(rules, ARRAY_SIZE(rules));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends_in_the_very_moment),
		cmocka_unit_test(test_dies_and_its_number_is_used_again),
		cmocka_unit_test(test_reload_keeps_what_is_pending),
		cmocka_unit_test(test_a_thousand_at_once),
		cmocka_unit_test(test_waits_for_a_cpu),
		cmocka_unit_test(test_searches_for_memory),
	};

	test_pid();
	return cmocka_run_group_tests(tests, start_reader, stop_reader);
}
