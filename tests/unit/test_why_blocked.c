// SPDX-License-Identifier: GPL-2.0-only
/* Answers of `frbpf why` about locks and their owners, stops, and slowed tasks. Needs no root. */
#include "analyse/prev_state.h"
#include "common/cleanup.h"
#include "why_story.h"

/* HOG ran while SUBJECT spun. The lock's owner is recorded, or only inferred. */
static void test_owner_of_spinlock(void **state)
{
	for (uint32_t owner = 0; owner <= OTHER; owner += OTHER) {
		struct why_verdict v = { 0 };
		struct why *w = story_begin();
		struct sched_event *e;

		switches(w, 9, 0, 0, HOG, false);
		switches(w, 9, 1, 0, SUBJECT, false);
		e = happens(w, 30, SCHED_LOCK, 1, SUBJECT, owner);
		e->arg = LOCK_SPINLOCK;
		e->prio = 20000; /* us */
		switches(w, 30, 1, SUBJECT, 0, true);
		switches(w, 31, 0, HOG, 0, true);
		asked(w, (struct why_question){ 0 }, 10, 30);
		says(w, 0,
		     owner ? "20ms tried to take a spinlock of the kernel while ?/3 held it"
			   : "20ms tried to take a spinlock of the kernel: perhaps ?/2 held it, no "
			     "other task ran all that time");
		comes_from(w, "a b.data");
		assert_int_equal(why_verdict__make(&v, w, as_ms), 0);
		assert_int_equal(v.cause, owner ? CAUSE_COMPUTED : CAUSE_UNKNOWN);
		assert_int_equal(v.culprit, owner);
		assert_int_equal(v.missing, owner ? MISSING_NOTHING : MISSING_OWNER);
		why_verdict__free(&v);
		why__free(w);
	}
}

/* A task spins for a mutex or semaphore only while the owner runs. Here HOG is the owner. */
static void test_owner_by_samples(void **state)
{
	struct why_verdict v = { 0 };
	struct why *w = story_begin();

	switches(w, 9, 0, 0, HOG, false);
	switches(w, 9, 1, 0, SUBJECT, false);
	for (int ms = 15; ms < 30; ms += 5)
		noted(w, happens(w, ms, SCHED_SAMPLE, 1, SUBJECT, 0),
		      (struct stack_note){ .kind = WAIT_INODE_LOCK, .spins = true });
	switches(w, 30, 1, SUBJECT, 0, true);
	switches(w, 31, 0, HOG, 0, true);
	comes_from(w, "a b.data");
	asked(w, (struct why_question){ 0 }, 10, 30);
	says(w, 0,
	     "20ms tried to take the lock of an inode while ?/2 held it: no other task ran all "
	     "that time");
	assert_int_equal(why_verdict__make(&v, w, as_ms), 0);
	assert_int_equal(v.cause, CAUSE_COMPUTED);
	assert_int_equal(v.culprit, HOG);
	why_verdict__free(&v);
	why__free(w);
}

/* A task spins for a lock, gets it, and soon sleeps for something else. */
static void test_sleep_after_a_spin(void **state)
{
	static const struct {
		enum lock_kind lock;
		const char *says;
	} rows[] = {
		{ LOCK_SPINLOCK, "20ms waited, until woken by ?/2" },
		{ LOCK_MUTEX, "20ms waited for a mutex of the kernel, which ?/3 held when the wait "
			      "began, until woken by ?/2" },
		{ LOCK_MUTEX_SPUN, "20ms waited, until woken by ?/2" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct why *w = story_begin();
		struct sched_event *e;

		switches(w, 9, 1, 0, SUBJECT, false);
		e = happens(w, 10, SCHED_LOCK, 1, SUBJECT, OTHER);
		e->arg = rows[i].lock;
		e->prio = 60; /* us */
		switches(w, 10, 1, SUBJECT, HOG, true);
		happens(w, 30, SCHED_WAKING, 1, HOG, SUBJECT);
		switches(w, 30, 1, HOG, SUBJECT, false);
		asked(w, (struct why_question){ 0 }, 10, 30);
		says(w, 0, rows[i].says);
		why__free(w);
	}
}

/* In a write, a mutex is not the lock of an inode. */
static void test_lock_of_an_event(void **state)
{
	static const struct {
		enum lock_kind lock;
		const char *says;
	} rows[] = {
		{ LOCK_RWSEM_WRITE, "20ms waited for the lock of an inode, which ?/3 held when the "
				    "wait began, until woken by ?/2" },
		{ LOCK_MUTEX, "20ms waited for a mutex of the kernel, which ?/3 held when the wait "
			      "began, until woken by ?/2" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct why *w = story_begin();
		struct sched_event *e;

		happens(w, 10, SCHED_LOCK, 1, SUBJECT, OTHER)->arg = rows[i].lock;
		e = happens(w, 10, SCHED_SWITCH, 1, SUBJECT, HOG);
		e->arg = 1;
		noted(w, e, (struct stack_note){ .kind_in_lock = WAIT_INODE_LOCK });
		happens(w, 30, SCHED_WAKING, 1, HOG, SUBJECT);
		switches(w, 30, 1, HOG, SUBJECT, false);
		asked(w, (struct why_question){ 0 }, 10, 30);
		says(w, 0, rows[i].says);
		why__free(w);
	}
}

/* SUBJECT waits from 10 to 30 ms, until a timer ends the wait. */
static struct why *story_of_timer(enum wait_kind kind)
{
	struct why *w = story_begin();
	struct sched_event *e = happens(w, 10, SCHED_SWITCH, 1, SUBJECT, HOG);

	e->arg = 1;
	noted(w, e, (struct stack_note){ .kind = kind, .function = "main", .call = "write" });
	e = happens(w, 30, SCHED_WAKING, 1, HOG, SUBJECT);
	e->flags = SCHED_HARDIRQ;
	noted(w, e, (struct stack_note){ .context = WAKE_TIMER });
	switches(w, 30, 1, HOG, SUBJECT, false);
	return w;
}

/* The kernel slows a task down by a sleep, which is no timeout of that task. */
static void test_slowed_down(void **state)
{
	static const struct {
		enum wait_kind kind;
		enum why_cause cause;
		enum why_missing missing;
		const char *says, *below;
	} rows[] = {
		{ WAIT_OVER_HIGH, CAUSE_RECLAIM, MISSING_NOTHING,
		  "20ms was slowed down by the kernel in main (write), because a cgroup of it was "
		  "above memory.high or memory.swap.high" },
		{ WAIT_RECLAIM, CAUSE_RECLAIM, MISSING_NOTHING,
		  "20ms waited for memory to be reclaimed in main (write): the kernel paused its "
		  "reclaim" },
		{ WAIT_DIRTY, CAUSE_UNKNOWN, MISSING_DIRTY,
		  "20ms waited for dirty pages to be written in main (write)",
		  "20ms unknown: the kernel slowed the writer down: too many dirty pages, and who "
		  "made them dirty was not recorded: see Dirty and Writeback of /proc/meminfo, "
		  "and io.pressure" },
		{ WAIT_POLL, CAUSE_TIMEOUT, MISSING_NOTHING,
		  "20ms waited for poll in main (write), until its timeout expired: nothing woke "
		  "it earlier" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct why *w = story_of_timer(rows[i].kind);
		struct why_verdict v = { 0 };

		comes_from(w, "a b.data");
		asked(w, (struct why_question){ 0 }, 10, 30);
		says(w, 0, rows[i].says);
		if (rows[i].below)
			says_below(w, 0, rows[i].below);
		assert_int_equal(why_verdict__make(&v, w, as_ms), 0);
		assert_int_equal(v.cause, rows[i].cause);
		assert_int_equal(v.missing, rows[i].missing);
		if (rows[i].kind == WAIT_OVER_HIGH)
			assert_string_equal(v.next.data,
					    "memory.max, memory.high and memory.events of the "
					    "cgroup in /proc/1/cgroup, and of those above it");
		assert_int_equal(v.culprit, rows[i].cause == CAUSE_UNKNOWN ? 0 : SUBJECT);
		why_verdict__free(&v);
		why__free(w);
	}
}

static struct sched_event *sends(struct why *w, uint64_t ms, uint32_t tid, uint32_t sig)
{
	struct sched_event *e = happens(w, ms, SCHED_SIGNAL, 0, tid, SUBJECT);

	e->arg = sig;
	e->prio = 0; /* the result: it was delivered */
	return e;
}

/* From 10 ms on SUBJECT is stopped, by OTHER if @sent; HOG continues it at 30 ms if @over. */
static struct why *story_of_stop(uint32_t state, bool sent, bool over)
{
	struct why *w = story_begin();

	if (sent)
		sends(w, 9, OTHER, 19); /* SIGSTOP */
	switches(w, 9, 0, 0, HOG, true);
	happens(w, 10, SCHED_SWITCH, 1, SUBJECT, 0)->arg = state;
	if (over)
		happens(w, 30, SCHED_WAKING, 0, HOG, SUBJECT);
	switches(w, 31, 0, HOG, 0, true);
	comes_from(w, "a b.data");
	return w;
}

/* The culprit is the sender of the signal, not the task that continued SUBJECT. */
static void test_stopped(void **state)
{
	static const struct {
		bool sent, over, recorded;
		const char *says;
	} rows[] = {
		{ true, true, true,
		  "20ms was stopped by a signal from ?/3, until ?/2 continued it" },
		{ false, true, true, "20ms was stopped by a signal, until ?/2 continued it" },
		{ false, true, false, "20ms was stopped by a signal, until ?/2 continued it" },
		{ true, false, true, "20ms was stopped by a signal from ?/3" },
		{ false, false, true, "20ms was stopped by a signal" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct why *w = story_of_stop(PREV_STATE_STOPPED, rows[i].sent, rows[i].over);
		struct why_verdict v = { 0 };

		w->events.recorded[SCHED_SIGNAL] = rows[i].recorded;
		asked(w, (struct why_question){ 0 }, 10, 30);
		says(w, 0, rows[i].says);
		assert_int_equal(why__unknown_ns(w), rows[i].sent ? 0 : 20 * MS);
		assert_int_equal(why_verdict__make(&v, w, as_ms), 0);
		assert_int_equal(v.cause, rows[i].sent ? CAUSE_STOPPED : CAUSE_UNKNOWN);
		assert_int_equal(v.culprit, rows[i].sent ? OTHER : 0);
		assert_int_equal(v.missing, rows[i].sent ? MISSING_NOTHING : MISSING_SIGNAL);
		if (!rows[i].recorded)
			assert_string_equal(v.next.data, "record -e signal:signal_generate of all "
							 "tasks (-a)");
		why_verdict__free(&v);
		why__free(w);
	}
}

/* A signal that was ignored, or is older than the last SIGCONT, did not stop the task. */
static void test_other_signals(void **state)
{
	for (int i = 0; i < 4; i++) {
		struct why *w = story_begin();

		sends(w, 7, OTHER, 19);
		if (i == 1)
			sends(w, 8, HOG, 18);
		if (i == 2)
			sends(w, 8, HOG, 20)->prio = 1;
		if (i == 3)
			sends(w, 8, HOG, 20);
		happens(w, 10, SCHED_SWITCH, 1, SUBJECT, 0)->arg = PREV_STATE_STOPPED;
		switches(w, 31, 0, HOG, 0, true);
		asked(w, (struct why_question){ 0 }, 10, 30);
		says(w, 0,
		     i == 1   ? "20ms was stopped by a signal"
		     : i == 3 ? "20ms was stopped by a signal from ?/2"
			      : "20ms was stopped by a signal from ?/3");
		why__free(w);
	}
}

/*
 * What the tracer did meanwhile explains the stop, unless SUBJECT's stack shows that a signal did
 * it.
 */
static void test_traced(void **state)
{
	struct why_verdict v = { 0 };
	struct why *w = story_of_stop(PREV_STATE_TRACED, true, true);

	noted(w, &w->events.v[2], (struct stack_note){ .kind = WAIT_STOPPED });
	asked(w, (struct why_question){ 0 }, 10, 30);
	says(w, 0, "20ms was stopped by a signal from ?/3, until ?/2 continued it");
	why__free(w);
	w = story_of_stop(PREV_STATE_TRACED, true, true);
	asked(w, (struct why_question){ 0 }, 10, 30);
	says(w, 0, "20ms was stopped, as it is traced, until ?/2 continued it");
	says_below(w, 0, "20ms computed");
	assert_int_equal(why_verdict__make(&v, w, as_ms), 0);
	assert_int_equal(v.cause, CAUSE_COMPUTED);
	assert_int_equal(v.culprit, HOG);
	why_verdict__free(&v);
	why__free(w);
}

/* The task that took a file lock may have left it to a child. */
static void test_owner_of_flock(void **state)
{
	for (int ended = 0; ended < 2; ended++) {
		struct why *w = story_begin();

		if (ended)
			happens(w, 9, SCHED_SWITCH, 0, OTHER, HOG)->arg = PREV_STATE_ENDED;
		else
			switches(w, 9, 0, 0, OTHER, true);
		happens(w, 10, SCHED_LOCK, 1, SUBJECT, OTHER)->arg = LOCK_FLOCK;
		switches(w, 10, 1, SUBJECT, 0, true);
		switches(w, 31, 0, ended ? HOG : OTHER, 0, true);
		asked(w, (struct why_question){ 0 }, 10, 30);
		says(w, 0, "20ms waited for a file lock, which ?/3 took");
		says_below(w, 0,
			   ended ? "20ms unknown: it had not ended when the recording ended: a "
				   "later end shows more, such as post = 1s in the rule"
				 : "20ms computed");
		why__free(w);
	}
}

/* The owner is known from when the wait began. The wait is not over, or OTHER ends it. */
static void test_owner_from_before(void **state)
{
	static const struct {
		enum lock_kind lock;
		bool over;
		const char *says, *below;
	} rows[] = {
		{ LOCK_MUTEX, false,
		  "20ms waited for a mutex of the kernel, which ?/3 held when the wait began",
		  "20ms computed" },
		{ LOCK_MUTEX, true,
		  "20ms waited for a mutex of the kernel, until woken by its "
		  "owner ?/3",
		  "20ms computed" },
		{ LOCK_RWSEM_READERS, false,
		  "20ms waited for a semaphore of the kernel that readers held, which ?/3 was the "
		  "last to take for reading",
		  "20ms unknown: it had not ended when the recording ended: a later end shows "
		  "more, such as post = 1s in the rule" },
		{ LOCK_RWSEM_READERS, true,
		  "20ms waited for a semaphore of the kernel that readers held, which ?/3 was the "
		  "last to take for reading, until woken by ?/3",
		  "20ms computed" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct why *w = story_begin();

		switches(w, 9, 0, 0, OTHER, true);
		happens(w, 10, SCHED_LOCK, 1, SUBJECT, OTHER)->arg = rows[i].lock;
		switches(w, 10, 1, SUBJECT, HOG, true);
		if (rows[i].over)
			happens(w, 30, SCHED_WAKING, 0, OTHER, SUBJECT);
		switches(w, 31, 0, OTHER, 0, true);
		asked(w, (struct why_question){ 0 }, 10, 30);
		says(w, 0, rows[i].says);
		says_below(w, 0, rows[i].below);
		why__free(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sleep_after_a_spin),
		cmocka_unit_test(test_lock_of_an_event),
		cmocka_unit_test(test_slowed_down),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_traced),
		cmocka_unit_test(test_other_signals),
		cmocka_unit_test(test_owner_by_samples),
		cmocka_unit_test(test_owner_of_flock),
		cmocka_unit_test(test_owner_from_before),
		cmocka_unit_test(test_owner_of_spinlock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
