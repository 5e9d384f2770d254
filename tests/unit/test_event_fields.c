// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules on fields that only the format of a tracepoint has, with real hits. Needs BTF, tracefs and
 * root. Children make the events, as this process is never a subject. with: others
 */
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "detect/inject/listener.h"
#include "tracepoint_fixture.h"

#define NEED_TRACEFS()                                                                             \
	do {                                                                                       \
		NEED_ROOT();                                                                       \
		if (access("/sys/kernel/tracing/events/syscalls/sys_enter_close/format", R_OK)) {  \
			print_message("skipped: needs tracefs with system calls\n");               \
			skip();                                                                    \
		}                                                                                  \
	} while (0)

#define RARE_FD 12345

static void close_rare(long n)
{
	while (n--)
		close(RARE_FD + n % 2);
}

/* Counts the hits of close_rare_slowly(). */
static struct {
	struct detectors *d;
	uint32_t slot;
} counts;

/* Wait after each close(), so that few hits wait to be read, however slow the machine is. */
static void close_rare_slowly(long n)
{
	alarm(120);
	for (long i = 0; i < n; i++) {
		close(RARE_FD);
		do
			usleep(200);
		while (matched(counts.d, counts.slot) + 64 < (uint64_t)i);
	}
}

/* Wait until the rule has matched @n times. Returns how often it has. */
static uint64_t matched_by(struct detectors *d, uint32_t slot, uint64_t n)
{
	for (int i = 0; i < 1500 && matched(d, slot) < n; i++)
		usleep(20000);
	return matched(d, slot);
}

static void test_fields(void **state)
{
	struct frbpf_trigger t = { 0 };
	struct detectors *d;
	struct ruleset *rs;
	uint32_t slots[4];
	pid_t pid;

	NEED_TRACEFS();
	rs = parse_tracepoint_rules(
		"[rule-a]\nwhen = syscalls:sys_enter_close\n"
		"if = fd in (12345, 12346) && comm == NAME\ncount = 10 in 1m\n"
		"[rule-b]\nwhen = syscalls:sys_enter_close\n"
		"if = fd == 12346 && comm == NAME\ndump = none\n"
		"[rule-c]\nwhen = sched:sched_process_exec\n"
		"if = filename ~ \"/proc/s*/exe\" && filename != \"/proc/self/exec\"\n"
		"dump = none\n"
		"[rule-d]\nwhen = sched:sched_process_exec\n"
		"if = filename ~ \"/proc/s*/exec\"\ndump = none\n");
	d = open_detectors();
	update(d, rs->rules, rs->n_rules, slots);
	pid = spawn_subject(close_rare, 10);
	matched_by(d, slots[0], 10); /* its task is looked up in /proc: do not reap it before */
	assert_int_equal(await(pid), 0);
	assert_int_equal(matched(d, slots[0]), 10);
	assert_int_equal(matched(d, slots[1]), 5);
	assert_int_equal(consume(d, &t), 1);
	assert_int_equal(t.subject.pid, pid);
	assert_int_equal(t.current.pid, pid);
	assert_string_equal(t.subject.comm, subject_name());
	assert_int_equal(arg_of(rs, 0, &t, "fd"), RARE_FD);
	assert_int_equal(await(spawn_subject(exec_self, 0)), 42);
	assert_in_range(matched_by(d, slots[2], 1), 1, 100);
	assert_int_equal(matched(d, slots[3]), 0);
	detectors__free(d);
	ruleset__free(rs);
}

#define CLOSE_RULE(name, fd)                                                                       \
	"[rule-" name "]\nwhen = syscalls:sys_enter_close\nif = fd == " fd                         \
	" && comm == NAME\ndump = none\n"

/* While the filter changes, no hit is missed or seen twice. */
static void test_fields_reload(void **state)
{
	enum { N = 4000, RELOADS = 25 };
	struct detectors_stats stats;
	struct ruleset *rs[2];
	struct detectors *d;
	uint32_t slots[2];
	pid_t pid;

	NEED_TRACEFS();
	rs[0] = parse_tracepoint_rules(CLOSE_RULE("a", "12345"));
	rs[1] = parse_tracepoint_rules(CLOSE_RULE("a", "12345") CLOSE_RULE("b", "54321"));
	d = open_detectors();
	update(d, rs[0]->rules, rs[0]->n_rules, slots);
	counts.d = d;
	counts.slot = slots[0];
	pid = spawn_subject(close_rare_slowly, N);
	for (int i = 1; i <= RELOADS; i++)
		update(d, rs[i % 2]->rules, rs[i % 2]->n_rules, slots);
	assert_int_equal(await(pid), 0);
	matched_by(d, slots[0], N);
	detectors__stats(d, &stats);
	assert_int_equal(stats.unmeasured, 0);
	assert_int_equal(matched(d, slots[0]), N);
	detectors__free(d);
	ruleset__free(rs[0]);
	ruleset__free(rs[1]);
}

/* Make some hits, and give them time to be read. Returns how many the rule matches. */
static uint64_t make_some(void)
{
	assert_int_equal(await(spawn_subject(close_rare, 20)), 0);
	usleep(10000);
	return 10;
}

/* While its only rule cools down, the event is paused. */
static void test_fields_pause(void **state)
{
	struct frbpf_trigger t = { 0 };
	struct detectors *d;
	struct ruleset *rs;
	uint64_t made = 1, seen;
	uint32_t slot;

	NEED_TRACEFS();
	rs = parse_tracepoint_rules("[rule-a]\nwhen = syscalls:sys_enter_close\nif = fd == 12345\n"
				    "cooldown = 2s\n");
	d = open_detectors();
	update(d, rs->rules, rs->n_rules, &slot);
	assert_int_equal(await(spawn_subject(close_rare, 2)), 0);
	assert_int_equal(matched_by(d, slot, 1), 1);
	/* first, a hundred are not read; then the event is enabled again, and some are read */
	for (int i = 0; i < 1000 && made - matched(d, slot) < 100; i++)
		made += make_some();
	assert_true(made - matched(d, slot) >= 100);
	seen = matched(d, slot);
	for (int i = 0; i < 1000 && matched(d, slot) == seen; i++)
		made += make_some();
	assert_in_range(matched(d, slot), seen + 1, made - 100);
	assert_true(consume(d, &t) >= 1);
	detectors__free(d);
	ruleset__free(rs);
}

/* A pause ends with its rules, even if the new ones have the same filter. */
static void test_fields_pause_and_reload(void **state)
{
	static const char *const rules[] = {
		"[rule-a]\nwhen = syscalls:sys_enter_close\nif = fd == 12345\ncooldown = 1h\n",
		"[rule-b]\nwhen = syscalls:sys_enter_close\nif = fd == 12345\ncooldown = 1h\n",
	};
	struct detectors *d;

	NEED_TRACEFS();
	d = open_detectors();
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		struct ruleset *rs = parse_tracepoint_rules(rules[i]);
		uint32_t slot;

		update(d, rs->rules, rs->n_rules, &slot);
		assert_int_equal(await(spawn_subject(close_rare, 2)), 0);
		assert_int_equal(matched_by(d, slot, 1), 1);
		ruleset__free(rs);
	}
	detectors__free(d);
}

static void close_as_listener(long arg)
{
	prctl(PR_SET_NAME, LISTENER_NAME);
	close(RARE_FD);
}

/* A task with the name of our own thread is a subject like others. */
static void test_fields_namesake(void **state)
{
	struct detectors *d;
	struct ruleset *rs;
	uint32_t slot;
	pid_t pid;

	NEED_TRACEFS();
	rs = parse_tracepoint_rules("[rule-a]\nwhen = syscalls:sys_enter_close\n"
				    "if = fd == 12345 && comm == \"" LISTENER_NAME
				    "\"\ndump = none\n");
	d = open_detectors();
	update(d, rs->rules, rs->n_rules, &slot);
	pid = spawn_subject(close_as_listener, 0);
	assert_int_equal(matched_by(d, slot, 1), 1);
	assert_int_equal(await(pid), 0);
	detectors__free(d);
	ruleset__free(rs);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_fields_reload),
		cmocka_unit_test(test_fields_pause_and_reload),
		cmocka_unit_test(test_fields_namesake),
		cmocka_unit_test(test_fields_pause),
	};

	if (argc > 1 && !strcmp(argv[1], "--exit"))
		return 42;
	return cmocka_run_group_tests_name("event fields", tests, NULL, NULL);
}
