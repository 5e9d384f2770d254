// SPDX-License-Identifier: GPL-2.0-only
/*
 * Spans between places in programs, on the running kernel: functions and a static probe of this
 * program, reached by children. Skips without root, BTF or uprobes.
 * with: others
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/clock.h"
#include "detect/probe/user_probe.h"
#include "pending_fixture.h"
#include "user_probe_fixture.h"

/* ---- the watched functions ---- */

WATCHED long watched_begin(long id, long what);
WATCHED long watched_begin(long id, long what)
{
	__asm__ volatile("" : "+r"(id), "+r"(what));
	return id + what;
}

WATCHED long watched_end(long what, long id);
WATCHED long watched_end(long what, long id)
{
	__asm__ volatile("" : "+r"(id), "+r"(what));
	return id - what;
}

/* A span of @id around a read of @fd. */
static long hang_in_span(long id, long fd)
{
	char c;

	watched_begin(id, 7);
	id += read((int)fd, &c, 1) - 1;
	return watched_end(8, id);
}

#define BY_TID "uprobe:SELF:watched_begin -> uprobe:SELF:watched_end by tid"
#define BY_ARG "uprobe:SELF:watched_begin -> uprobe:SELF:watched_end by arg0 = arg1"
#define MIXED  "usdt:SELF:frbpf_unit:tick -> uprobe:SELF:watched_end by tid, arg1"

/* ---- rules ---- */

struct watch {
	struct ruleset *rs;
	struct detectors *d;
	uint32_t slots[8];
};

static struct watch watch(const char *rules)
{
	struct watch w = { .rs = rules_of(rules), .d = open_detectors() };

	assert_true(w.rs->n_rules <= ARRAY_SIZE(w.slots));
	update(w.d, w.rs->rules, w.rs->n_rules, w.slots);
	return w;
}

static void watch__end(struct watch *w)
{
	detectors__free(w->d);
	ruleset__free(w->rs);
}

#define RULE(name, when, condition, rest)                                                          \
	"[rule-" name "]\nwhen = " when "\nif = comm == \"NAME\"" condition "\n" rest
#define COUNT "dump = none\ncooldown = 0\n"

/* ---- spans that ended ---- */

static void run_spans(struct findings *f, long n)
{
	set_name(subject_name());
	f->pid = getpid();
	f->begin = now_ns();
	for (long i = 0; i < n; i++) {
		watched_begin(i, 70 + i);
		usleep(2000);
		watched_end(-i, 100 + i);
	}
	f->end = now_ns();
}

static void test_between_functions(void **state)
{
	struct findings *f = shared_memory(sizeof(*f));
	struct watch w;
	struct sink s;

	SKIP_UNLESS_UPROBES();
	w = watch(RULE("all", BY_TID " > 1ns", "", COUNT) RULE("slow", BY_TID " > 1h", "", COUNT)
			  RULE("third", BY_TID " > 1us", " && start.arg1 == 72 && arg0 == -2", "")
				  RULE("wrong", BY_TID " > 1us",
				       " && (start.arg1 < 70 || arg1 < 100)", COUNT));
	await_success(spawn(run_spans, f, 5));
	s = collect(w.d, LONG_MS);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.last.source, FRBPF_SOURCE_PROBE_SPAN);
	assert_int_equal(s.last.subject.tid, f->pid);
	assert_in_range(s.last.value, 2 * MS, f->end - f->begin);
	assert_in_range(s.last.time, f->begin, f->end);
	assert_int_equal(matched(w.d, w.slots[0]), 5);
	assert_int_equal(matched(w.d, w.slots[1]), 0);
	assert_int_equal(missing(w.d), 0);
	watch__end(&w);
	munmap(f, sizeof(*f));
}

/* Ends without a start, and many spans at once. */
static void run_spans_at_once(struct findings *f, long n)
{
	set_name(subject_name());
	for (long i = 0; i < 100; i++)
		watched_end(0, n + i);
	for (long i = 0; i < n; i++)
		watched_begin(i, 0);
	for (long i = 0; i < n; i++)
		watched_end(0, i);
}

static void test_as_many_as_promised(void **state)
{
	struct watch w;

	SKIP_UNLESS_UPROBES();
	w = watch(RULE("all", BY_ARG " > 1ns", "", COUNT));
	await_success(spawn(run_spans_at_once, NULL, FRBPF_MAX_IN_FLIGHT));
	assert_int_equal(missing(w.d), 0);
	assert_int_equal(matched(w.d, w.slots[0]), FRBPF_MAX_IN_FLIGHT);
	watch__end(&w);
}

static void test_evicted_starts_are_counted(void **state)
{
	const long more = 1000, most = user_probe__lru_entries();
	struct watch w;

	SKIP_UNLESS_UPROBES();
	w = watch(RULE("all", BY_ARG " > 1ns", "", COUNT));
	await_success(spawn(run_spans_at_once, NULL, most + more));
	assert_int_equal(missing(w.d), more);
	assert_in_range(matched(w.d, w.slots[0]), 1, most);
	/* the table is empty again */
	await_success(spawn(run_spans_at_once, NULL, 100));
	assert_int_equal(missing(w.d), more);
	watch__end(&w);
}

static void *end_elsewhere(void *arg)
{
	watched_end(0, *(const long *)arg);
	return NULL;
}

/* Spans begin in one thread and end in another. */
static void run_handover(struct findings *f, long n)
{
	pthread_t t;

	set_name(subject_name());
	for (long i = 0; i < n; i++)
		watched_begin(i, 0);
	for (long i = 2 * n - 1; i >= 0; i--) { /* only half of them have begun */
		if (pthread_create(&t, NULL, end_elsewhere, &i) || pthread_join(t, NULL))
			_exit(1);
	}
}

static void test_by_argument(void **state)
{
	struct watch w;

	SKIP_UNLESS_UPROBES();
	w = watch(RULE("all", BY_ARG " > 1ns", "", COUNT) RULE("thread", BY_TID " > 1ns", "", COUNT)
			  RULE("odd", BY_ARG " > 1ns", " && start.arg0 & 1 && start.arg0 < 10",
			       COUNT));
	await_success(spawn(run_handover, NULL, 20));
	assert_int_equal(matched(w.d, w.slots[0]), 20);
	assert_int_equal(matched(w.d, w.slots[1]), 0);
	assert_int_equal(matched(w.d, w.slots[2]), 5);
	watch__end(&w);
}

static void run_mixed(struct findings *f, long n)
{
	set_name(subject_name());
	for (long i = 0; i < n; i++) {
		watched_probe(-i, 1L << 40 | i);
		watched_end(i, 1L << 40 | (i & ~1)); /* every second one has another key */
	}
}

static void test_from_a_static_probe(void **state)
{
	struct watch w;

	SKIP_UNLESS_UPROBES();
	w = watch(RULE("all", MIXED " > 1ns", "", COUNT)
			  RULE("one", MIXED " > 1ns",
			       " && start.arg0 == -4 && start.arg2 == 200 && arg0 == 4", COUNT));
	await_success(spawn(run_mixed, NULL, 10));
	assert_int_equal(matched(w.d, w.slots[0]), 5);
	assert_int_equal(matched(w.d, w.slots[1]), 1);
	watch__end(&w);
}

/*
 * The thread that began the span has ended. Another thread gets its number, and reaches only the
 * end.
 */
static long only_begin(long id, long fd)
{
	return watched_begin(id, 0);
}

static long only_end(long id, long fd)
{
	return watched_end(id, id);
}

static void test_a_number_is_used_again(void **state)
{
	struct hanger first, second;
	struct watch w;

	SKIP_UNLESS_UPROBES();
	w = watch(RULE("tid", BY_TID " > 1ns", "", COUNT) RULE("arg", BY_ARG " > 1ns", "", COUNT));
	first = hang_in(only_begin, 3, 0);
	assert_int_equal(await(first.pid), 0);
	second = hang_in(only_end, 3, first.pid);
	assert_int_equal(await(second.pid), 0);
	assert_int_equal(matched(w.d, w.slots[0]), 0);
	assert_int_equal(matched(w.d, w.slots[1]), 1); /* by argument, whatever the thread */
	close(first.go[1]);
	close(second.go[1]);
	watch__end(&w);
}

/* ---- pending spans ---- */

#define PENDING(by) "pending(" by ") > 30ms"

static void test_pending_fires_once_and_is_followed(void **state)
{
	struct frbpf_ended end;
	struct hanger h, other;
	struct sink got;
	uint64_t begun;
	struct watch w;

	SKIP_UNLESS_UPROBES();
	w = watch(RULE("hangs", PENDING(BY_TID), " && start.arg0 == 5 && start.arg1 == 7",
		       "cooldown = 0\n") RULE("quiet", PENDING(BY_TID), "", COUNT));
	begun = now_ns();
	h = hang_in(hang_in_span, 5, 0);
	got = collect(w.d, LONG_MS);
	assert_int_equal(got.n, 1);
	assert_int_equal(waitpid(h.pid, NULL, WNOHANG), 0); /* it hangs */
	assert_int_equal(got.last.flags, FRBPF_TRIGGER_PENDING | FRBPF_TRIGGER_FOLLOWED);
	assert_int_equal(got.last.subject.tid, h.pid);
	assert_in_range(got.last.value, 30 * MS + 1, got.last.time - begun);
	other = hang_in(hang_in_span, 6, 0);
	await_matched(w.d, w.slots[1], 2); /* by a later look; it does not find the first again */
	hanger__end(&h, 1);
	end = await_end(w.d);
	assert_int_equal(end.of.begin, got.last.time - got.last.value);
	assert_int_equal(end.value, end.time - end.of.begin);
	hanger__end(&other, 1);
	assert_int_equal(matched(w.d, w.slots[0]), 1);
	watch__end(&w);
}

/*
 * Frequent looks at one span do not find the events of another. That does not mean that those have
 * ended.
 */
static void test_looks_at_another_span(void **state)
{
	struct hanger h, others[3];
	struct frbpf_ended end;
	struct sink got;
	struct watch w;

	SKIP_UNLESS_UPROBES();
	w = watch(RULE("rare", "pending(" BY_TID ") > 600ms", "", "cooldown = 0\n")
			  RULE("often", "pending(" BY_ARG ") > 10ms", "", COUNT));
	h = hang_in(hang_in_span, 5, 0);
	got = collect(w.d, LONG_MS);
	assert_int_equal(got.n, 1);
	for (int i = 0; i < (int)ARRAY_SIZE(others); i++) {
		others[i] = hang_in(hang_in_span, 6 + i, 0);
		await_at_least(w.d, w.slots[1], 2 + i);
	}
	hanger__end(&h, 1);
	end = await_end(w.d);
	assert_int_equal(end.of.begin, got.last.time - got.last.value);
	assert_int_equal(end.value, end.time - end.of.begin);
	for (int i = 0; i < (int)ARRAY_SIZE(others); i++)
		hanger__end(&others[i], 1);
	watch__end(&w);
}

static void test_pending_over_a_reload(void **state)
{
	struct ruleset *rs;
	struct hanger h;
	struct sink got;
	struct watch w;

	SKIP_UNLESS_UPROBES();
	w = watch(RULE("later", "pending(" BY_ARG ") > 1h", "", ""));
	h = hang_in(hang_in_span, 5, 0);
	await_sleep(h.pid);
	rs = rules_of(RULE("new", PENDING(BY_ARG), " && start.arg0 == 5", "")
			      RULE("later", "pending(" BY_ARG ") > 1h", "", ""));
	update(w.d, rs->rules, rs->n_rules, w.slots);
	got = collect(w.d, LONG_MS);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.last.subject.tid, h.pid);
	update(w.d, rs->rules, rs->n_rules, w.slots);
	hanger__end(&h, 1);
	assert_int_equal(await_end(w.d).of.begin, got.last.time - got.last.value);
	assert_int_equal(matched(w.d, w.slots[0]), 1);
	detectors__free(w.d);
	ruleset__free(w.rs);
	ruleset__free(rs);
}

/*
 * Spans keyed by a thread that has died are not pending. Those with other keys are pending, without
 * a subject. The thread dies before rules with a short threshold look for its spans.
 */
static void test_pending_of_a_task_that_dies(void **state)
{
	struct hanger dies, lives;
	struct ruleset *rs;
	struct watch w;

	SKIP_UNLESS_UPROBES();
	w = watch(RULE("arg", "pending(" BY_ARG ") > 1h", "", COUNT)
		  RULE("tid", "pending(" BY_TID ") > 1h", "", COUNT));
	dies = hang_in(only_begin, 515151, 0);
	assert_int_equal(await(dies.pid), 0);
	rs = rules_of("[rule-arg]\nwhen = " PENDING(BY_ARG) "\nif = start.arg0 == 515151\n" COUNT
		      "[rule-tid]\nwhen = " PENDING(BY_TID) "\nif = start.arg0 == 515151\n" COUNT
		      RULE("other", PENDING(BY_TID), "", COUNT));
	update(w.d, rs->rules, rs->n_rules, w.slots);
	lives = hang_in(hang_in_span, 6, 0);
	await_matched(w.d, w.slots[2], 1);
	await_matched(w.d, w.slots[0], 1);
	assert_int_equal(matched(w.d, w.slots[1]), 0);
	close(dies.go[1]);
	hanger__end(&lives, 1);
	watch__end(&w);
	ruleset__free(rs);
}

#define CROWD 1000

static long crowd_of_spans(long n, long fd)
{
	char c;

	for (long i = 0; i < n; i++)
		watched_begin(i, 0);
	read((int)fd, &c, 1);
	for (long i = 0; i < n; i++)
		watched_end(0, i);
	return 0;
}

static void test_a_thousand_pending(void **state)
{
	struct hanger h;
	struct watch w;

	SKIP_UNLESS_UPROBES();
	w = watch(RULE("all", PENDING(BY_ARG), "", COUNT)
			  RULE("ended", BY_ARG " > 1ns", "", COUNT));
	h = hang_in(crowd_of_spans, CROWD, 0);
	await_matched(w.d, w.slots[0], CROWD);
	hanger__end(&h, 1);
	assert_int_equal(matched(w.d, w.slots[0]), CROWD);
	assert_int_equal(matched(w.d, w.slots[1]), CROWD);
	assert_int_equal(missing(w.d), 0);
	watch__end(&w);
}

/* ---- cost ---- */

static void test_verified_instructions(void **state)
{
	struct watch w;

	SKIP_UNLESS_UPROBES();
	w = watch(RULE("all", MIXED " > 1ns", " && start.arg0 == 1 && arg1 == 2", COUNT)
			  RULE("pending", PENDING(MIXED), "", COUNT));
	assert_true(check_instructions("ps_") >= 3);
	assert_true(check_instructions("due_look") >= 1);
	watch__end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_between_functions),
		cmocka_unit_test(test_as_many_as_promised),
		cmocka_unit_test(test_evicted_starts_are_counted),
		cmocka_unit_test(test_by_argument),
		cmocka_unit_test(test_from_a_static_probe),
		cmocka_unit_test(test_a_number_is_used_again),
		cmocka_unit_test(test_pending_fires_once_and_is_followed),
		cmocka_unit_test(test_looks_at_another_span),
		cmocka_unit_test(test_pending_over_a_reload),
		cmocka_unit_test(test_pending_of_a_task_that_dies),
		cmocka_unit_test(test_a_thousand_pending),
		cmocka_unit_test(test_verified_instructions),
	};

	test_pid();
	return cmocka_run_group_tests(tests, start_reader, stop_reader);
}
