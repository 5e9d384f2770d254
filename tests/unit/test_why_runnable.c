// SPDX-License-Identifier: GPL-2.0-only
/* Answers of `frbpf why` about waits for a CPU and CPU quotas. Needs no root. */
#include "why_story.h"

/* SUBJECT waits 20 ms for CPU 1, while @idle_cpu idles. CPU 0 idles for the last @ms of that. */
static void check_beside_an_idle_cpu(const char *allowed, uint32_t idle_cpu, uint64_t ms,
				     const char *want)
{
	struct why_question q = { 0 };
	struct why *w = story_begin();
	char state[512], text[160];

	snprintf(state, sizeof(state), "{\"cpus\": \"%s\"}", allowed);
	q = question_of(state, "{}");
	q.quota = WHY_QUOTA_NONE;
	switches(w, 1, idle_cpu, OTHER, 0, true);
	switches(w, 10, 1, SUBJECT, HOG, false);
	if (ms)
		switches(w, 30 - ms, 0, 4, 0, true);
	switches(w, 30, 1, HOG, SUBJECT, false);
	switches(w, 40, idle_cpu, 0, OTHER, true);
	if (ms)
		switches(w, 40, 0, 0, 4, true);
	asked(w, q, 10, 30);
	snprintf(text, sizeof(text), "20ms waited for CPU 1 behind ?/2 (same priority)%s", want);
	says(w, 0, text);
	why__free(w);
}

static void test_beside_an_idle_cpu(void **state)
{
	const char *const unknown =
		", while CPU 0 was idle: it may run only on CPU 1, or was not moved";
	char cut[257];
	const char *const others =
		", while CPU 0 was idle: it may run on others, but was not moved";

	check_beside_an_idle_cpu("", 0, 0, unknown);
	check_beside_an_idle_cpu("1-0", 0, 0, unknown);
	check_beside_an_idle_cpu("1,1024", 0, 0, unknown); /* CPU numbers above 1023 are not kept */
	snprintf(cut, sizeof(cut), "%0256d", 1);	   /* the recorder keeps no more bytes */
	check_beside_an_idle_cpu(cut, 0, 0, unknown);
	check_beside_an_idle_cpu("1", 0, 0, ", while CPU 0 was idle: it may run only on CPU 1");
	check_beside_an_idle_cpu("0-1", 0, 0, others);
	check_beside_an_idle_cpu("0-1,1023", 0, 0, others);
	/* it may not run on CPU 2; on CPU 0, which idled for a shorter time, it may */
	check_beside_an_idle_cpu("0-1", 2, 0, ", while CPU 2 was idle: it may not run there");
	check_beside_an_idle_cpu("0-1", 70, 5, ", while CPU 70 was idle: it may not run there");
	check_beside_an_idle_cpu("0-1", 2, 15, others);
}

/* An idle CPU that the task has left does not mean that the task was throttled. */
static void test_after_a_move(void **state)
{
	struct why *w = story_begin();

	switches(w, 1, 0, OTHER, HOG, true);
	switches(w, 10, 1, SUBJECT, OTHER, false);
	moves(w, 11, SUBJECT, 0);
	switches(w, 12, 1, OTHER, 0, true);
	switches(w, 30, 0, HOG, SUBJECT, false);
	asked(w, (struct why_question){ 0 }, 10, 30);
	says(w, 0,
	     "19ms waited for CPU 0 behind ?/2 (same priority), while CPU 1 was idle: it "
	     "may run only on CPU 0, or was not moved");
	says(w, 1, "1ms waited for CPU 1 behind ?/3 (same priority)");
	why__free(w);
}

/* SUBJECT waits behind HOG for 20 ms, while CPU 0 idles first, and then CPU @then. */
static struct why *queued_beside_idle(uint32_t then)
{
	struct why *w = story_begin();

	switches(w, 1, 2, 0, OTHER, false);
	switches(w, 10, 1, SUBJECT, HOG, false);
	switches(w, 10, 0, 4, 0, true);
	switches(w, 20, 1, HOG, 5, false);
	switches(w, 20, 1, 5, HOG, false);
	switches(w, 20, 0, 0, 4, false);
	switches(w, 20, then, then ? OTHER : 4, 0, true);
	switches(w, 30, 1, HOG, SUBJECT, false);
	switches(w, 31, 0, then ? 4 : 0, 6, false);
	switches(w, 31, 2, then ? 0 : OTHER, 7, false);
	return w;
}

/* If different CPUs were idle one after the other, the answer names none of them. */
static void test_several_idle_cpus(void **state)
{
	struct why *w = queued_beside_idle(0);

	asked(w, (struct why_question){ 0 }, 10, 30);
	says(w, 0,
	     "20ms waited for CPU 1 behind ?/2 (same priority), while CPU 0 was idle: it may run "
	     "only on CPU 1, or was not moved");
	why__free(w);

	w = queued_beside_idle(2);
	asked(w, (struct why_question){ 0 }, 10, 30);
	says(w, 0,
	     "20ms waited for CPU 1 behind ?/2 (same priority), while some other CPU was idle: it "
	     "may run only on CPU 1, or was not moved");
	why__free(w);
}

/* A question that needs too many events is not answered with what was looked at first. */
static void test_limit_of_events(void **state)
{
	const char *const limit =
		"20ms unknown: too many events for one question: ask about a shorter time with -i "
		"FILE --tid TID --from --to";
	const char *const answer =
		"20ms waited for CPU 1 behind ?/2 (same priority), while some other CPU was idle: "
		"it may run only on CPU 1, or was not moved";
	struct why *w;

	for (int i = 0; i < 2; i++) {
		w = queued_beside_idle(2);
		w->looks_max = i ? 1000 : 5;
		asked(w, (struct why_question){ 0 }, 10, 30);
		says(w, 0, i ? answer : limit);
		why__free(w);
	}
}

/*
 * SUBJECT is runnable for 20 ms while its CPU idles. At 28 ms a timer expires, whose function is
 * @function.
 */
static struct why *runnable_beside_idle(const char *function)
{
	struct why *w = story_begin();
	struct sched_event *e;

	switches(w, 10, 1, SUBJECT, 0, false);
	e = happens(w, 28, SCHED_TIMER, 0, 0, 0);
	e->value = 0x1000;
	noted(w, e, (struct stack_note){ .leaf = function });
	switches(w, 28, 0, OTHER, HOG, true);
	switches(w, 30, 1, 0, SUBJECT, false);
	switches(w, 40, 1, SUBJECT, 0, true);
	sched_tasks__get(w->events.tasks, SUBJECT)->prio = 120;
	return w;
}

static void check_kept_off(struct why *w, struct why_question q, const char *want)
{
	asked(w, q, 10, 30);
	says(w, 0, want);
	why__free(w);
}

/*
 * A refill when the wait ends proves that a quota kept the task off its CPU. An idle CPU is no
 * proof, and neither is a quota that was used up at another time.
 */
static void test_kept_off_an_idle_cpu(void **state)
{
	const char *const unknown =
		"20ms unknown: it was runnable, but its cgroup had used up its CPU quota, or it "
		"waited for another reason: see cpu.stat of the cgroup, and record -e "
		"timer:hrtimer_expire_entry of all tasks (-a)";
	const char *const not_recorded =
		"20ms unknown: it was runnable, but its cgroup had used up its CPU quota, or it "
		"waited for another reason: see cpu.stat of the cgroup: events do not tell whose "
		"quota was refilled";
	const char *const not_recorded_19 =
		"19ms unknown: it was runnable, but its cgroup had used up its CPU quota, or it "
		"waited for another reason: see cpu.stat of the cgroup: events do not tell whose "
		"quota was refilled";
	const char *const throttled =
		"19ms was throttled: its cgroup had used up its CPU quota (cpu.max)";
	const char *const idle =
		"20ms unknown: it was runnable, and its CPU was idle: with run = evidence, a CPU "
		"or a hypervisor was slow to leave idle; without it, it may be a CPU quota";
	const struct why_question no_state = { 0 };
	struct why *w = runnable_beside_idle("sched_cfs_period_timer");

	w->events.recorded[SCHED_TIMER] = false;
	check_kept_off(w, no_state, unknown);
	check_kept_off(runnable_beside_idle(NULL), no_state, not_recorded);
	check_kept_off(runnable_beside_idle("tick_nohz_handler"), no_state, idle);

	w = runnable_beside_idle("sched_cfs_period_timer"); /* and still waits beside an idle CPU */
	check_kept_off(w, no_state, idle);
	for (enum why_quota q = WHY_QUOTA_UNKNOWN; q <= WHY_QUOTA_HIDDEN; q++) {
		if (q == WHY_QUOTA_NONE)
			continue;
		/* without a quota, a refill at the end may be chance */
		w = runnable_beside_idle("sched_cfs_period_timer");
		w->events.v[1].time = 30 * MS - 1000;
		w->events.v[2].time = w->events.v[1].time;
		check_kept_off(w, (struct why_question){ .quota = q },
			       q == WHY_QUOTA_UNKNOWN ? not_recorded_19 : throttled);
		check_kept_off(runnable_beside_idle(NULL), (struct why_question){ .quota = q },
			       not_recorded);
		/* another cgroup's quota was refilled: the task still waited beside an idle CPU */
		check_kept_off(runnable_beside_idle("sched_cfs_slack_timer"),
			       (struct why_question){ .quota = q }, idle);
	}
	check_kept_off(runnable_beside_idle("sched_cfs_period_timer"),
		       (struct why_question){ .quota = WHY_QUOTA_NONE }, idle);
	/* a quota that was used up at another time: none was refilled in this time */
	check_kept_off(runnable_beside_idle("tick_nohz_handler"),
		       (struct why_question){ .quota = WHY_QUOTA_UNKNOWN }, idle);
}

/*
 * SUBJECT leaves its CPU for HOG with a stack of this kind, in a cgroup with a quota. At 28 ms a
 * timer expires, whose function is @function.
 */
static void check_stack_of_quota(enum wait_kind kind, const char *function, const char *want)
{
	struct why *w = story_begin();
	struct sched_event *e;

	switches(w, 10, 1, SUBJECT, HOG, false);
	noted(w, &w->events.v[0], (struct stack_note){ .kind = kind });
	e = happens(w, 28, SCHED_TIMER, 0, 0, 0);
	e->value = 0x1000;
	noted(w, e, (struct stack_note){ .leaf = function });
	switches(w, 30, 1, HOG, SUBJECT, false);
	switches(w, 40, 1, SUBJECT, 0, true);
	asked(w, (struct why_question){ .quota = WHY_QUOTA_UNKNOWN }, 10, 30);
	says(w, 0, want);
	why__free(w);
}

/* A stack in deferred work proves nothing without a refill: it may be that of other work. */
static void test_stack_of_quota(void **state)
{
	const char *const throttled =
		"20ms was throttled: its cgroup had used up its CPU quota (cpu.max)";
	const char *const until_refill =
		"18ms was throttled: its cgroup had used up its CPU quota (cpu.max)";
	const char *const unknown =
		"20ms unknown: it was runnable, but its cgroup had used up its CPU quota, or it "
		"waited for another reason: see cpu.stat of the cgroup: events do not tell whose "
		"quota was refilled";

	check_stack_of_quota(WAIT_THROTTLED, NULL, throttled);
	check_stack_of_quota(WAIT_THROTTLED, "sched_cfs_period_timer", until_refill);
	check_stack_of_quota(WAIT_TASK_WORK, "sched_cfs_period_timer", until_refill);
	check_stack_of_quota(WAIT_TASK_WORK, NULL, unknown);
}

static void cpu_goes(struct why *w, uint64_t ms, uint32_t cpu, int from, int to)
{
	struct sched_event *e = happens(w, ms, SCHED_CPUHP, 0, HOG, 0);

	e->arg = cpu;
	e->value = from;
	e->prio = to;
}

static void test_cpu_off_line(void **state)
{
	struct why *w = story_begin();

	switches(w, 1, 0, OTHER, HOG, true);
	cpu_goes(w, 9, 1, 236, 144);
	switches(w, 10, 1, SUBJECT, 0, false);
	moves(w, 10, SUBJECT, 0);
	cpu_goes(w, 15, 1, 144, 0);
	switches(w, 30, 0, HOG, SUBJECT, false);
	switches(w, 35, 0, SUBJECT, HOG, false);
	cpu_goes(w, 36, 1, 1, 236);
	switches(w, 40, 0, HOG, SUBJECT, false);
	asked(w, (struct why_question){ 0 }, 10, 40);
	says(w, 0,
	     "20ms waited for CPU 0 behind ?/2 (same priority); it had to leave CPU 1, "
	     "which went offline");
	says(w, 2, "5ms computed");
	why__free(w);
}

/* Wait behind a kernel thread called @comm that OTHER woke, from an interrupt if @flags say so */
static void check_behind(const char *comm, uint8_t flags, const char *want)
{
	struct why *w = story_begin();
	struct sched_event *e;

	switches(w, 1, 1, HOG, SUBJECT, true);
	e = happens(w, 10, SCHED_WAKING, 0, OTHER, HOG);
	e->arg = 1;
	e->flags = flags;
	switches(w, 10, 1, SUBJECT, HOG, false);
	if (!strncmp(comm, "ksoftirqd", 9)) {
		happens(w, 11, SCHED_SOFTIRQ, 1, HOG, 0)->arg = 3;
		happens(w, 20, SCHED_SOFTIRQ_END, 1, HOG, 0)->arg = 3;
	}
	switches(w, 30, 1, HOG, SUBJECT, true);
	switches(w, 40, 1, SUBJECT, 0, true);
	named(w, HOG, comm);
	named(w, OTHER, "dd");
	asked(w, (struct why_question){ 0 }, 10, 30);
	says(w, 0, want);
	why__free(w);
}

static void test_on_behalf(void **state)
{
	check_behind("kworker/1:0", 0,
		     "20ms waited for CPU 1 behind kworker/1:0/2 (same priority), which "
		     "dd/3 woke");
	check_behind("kswapd0", 0,
		     "20ms waited for CPU 1 behind kswapd0/2 (same priority), which dd/3 "
		     "woke");
	check_behind("jbd2/vda-8", SCHED_SOFTIRQ_FLAG,
		     "20ms waited for CPU 1 behind jbd2/vda-8/2 (same priority)");
	check_behind("iou-wrk-3", SCHED_HARDIRQ,
		     "20ms waited for CPU 1 behind iou-wrk-3/2 (same priority), on behalf "
		     "of dd/3");
	check_behind("iou-wrk-77", 0, "20ms waited for CPU 1 behind iou-wrk-77/2 (same priority)");
	check_behind("ksoftirqd/1", 0,
		     "20ms waited for CPU 1 behind ksoftirqd/1/2 (same priority), for "
		     "softirq net_rx");
	check_behind("cat", 0, "20ms waited for CPU 1 behind cat/2 (same priority)");
}

/* Tasks with one name share the CPU with a task that took more than each of them. */
static void test_many_equals(void **state)
{
	struct why_verdict v = { 0 };
	struct why *w = story_begin();

	switches(w, 2, 0, SUBJECT, HOG, false);
	switches(w, 10, 0, HOG, SUBJECT, false);
	switches(w, 10, 0, SUBJECT, 4, false);
	switches(w, 15, 0, 4, 5, false);
	switches(w, 19, 0, 5, 6, false);
	switches(w, 22, 0, 6, SUBJECT, false);
	named(w, HOG, "backup");
	for (uint32_t tid = 4; tid <= 6; tid++)
		named(w, tid, "equal");
	asked(w, (struct why_question){ 0 }, 2, 22);
	assert_int_equal(why_verdict__make(&v, w, as_ms), 0);
	assert_string_equal(v.text.data,
			    "100 % of 20ms: ?/1 waited for CPU 0 behind 4 tasks, those named equal "
			    "with 60 % of that");
	assert_int_equal(v.cause, CAUSE_CPU_MANY);
	assert_int_equal(v.culprit, 4);
	why_verdict__free(&v);
	why__free(w);
}

/* SUBJECT waits on two CPUs, each time behind HOG and another task. */
static void test_queues_of_two_cpus(void **state)
{
	struct why_verdict v = { 0 };
	struct why *w = story_begin();

	switches(w, 2, 0, SUBJECT, HOG, false);
	switches(w, 7, 0, HOG, 4, false);
	moves(w, 10, SUBJECT, 1);
	switches(w, 10, 1, 6, HOG, false);
	switches(w, 17, 1, HOG, 5, false);
	switches(w, 22, 1, 5, SUBJECT, false);
	asked(w, (struct why_question){ 0 }, 2, 22);
	assert_int_equal(why_verdict__make(&v, w, as_ms), 0);
	assert_string_equal(v.text.data, "60 % of 20ms: ?/1 waited for several CPUs behind ?/2");
	assert_int_equal(v.cause, CAUSE_CPU);
	assert_int_equal(v.culprit, HOG);
	why_verdict__free(&v);
	why__free(w);

	w = story_begin();
	switches(w, 2, 0, SUBJECT, HOG, false);
	switches(w, 6, 0, HOG, 4, false);
	moves(w, 10, SUBJECT, 1);
	switches(w, 10, 1, 6, HOG, false);
	switches(w, 14, 1, HOG, 5, false);
	switches(w, 22, 1, 5, SUBJECT, false);
	for (uint32_t tid = 4; tid <= 5; tid++)
		named(w, tid, "equal");
	asked(w, (struct why_question){ 0 }, 2, 22);
	assert_int_equal(why_verdict__make(&v, w, as_ms), 0);
	assert_string_equal(v.text.data,
			    "100 % of 20ms: ?/1 waited for several CPUs behind 3 tasks, those "
			    "named equal with 60 % of that");
	assert_int_equal(v.cause, CAUSE_CPU_MANY);
	why_verdict__free(&v);
	why__free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_beside_an_idle_cpu),
		cmocka_unit_test(test_many_equals),
		cmocka_unit_test(test_after_a_move),
		cmocka_unit_test(test_kept_off_an_idle_cpu),
		cmocka_unit_test(test_stack_of_quota),
		cmocka_unit_test(test_several_idle_cpus),
		cmocka_unit_test(test_queues_of_two_cpus),
		cmocka_unit_test(test_limit_of_events),
		cmocka_unit_test(test_cpu_off_line),
		cmocka_unit_test(test_on_behalf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
