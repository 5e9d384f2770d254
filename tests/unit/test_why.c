// SPDX-License-Identifier: GPL-2.0-only
/* Answers of why about made-up events, for cases that a test cannot provoke on a machine. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/why/sched_events.h"
#include "analyse/why/why_impl.h"
#include "analyse/why/why_incident.h"
#include "analyse/why/why_phrase.h"
#include "analyse/why/why_text.h"

#define MS	1000000ULL
#define SUBJECT 1
#define HOG	2
#define OTHER	3

/* Events are added in the order of time, and recorded from 1 ms on. */
static struct why *story_begin(void)
{
	struct why *w;

	assert_int_equal(why__new(&w), 0);
	assert_int_equal(sched_tasks__new(&w->events.tasks), 0);
	w->events.v = calloc(64, sizeof(*w->events.v));
	assert_non_null(w->events.v);
	w->events.cap = 64;
	w->events.begin = MS;
	memset(w->events.recorded, 1, sizeof(w->events.recorded));
	return w;
}

static struct sched_event *happens(struct why *w, uint64_t ms, enum sched_kind kind, uint32_t cpu,
				   uint32_t tid, uint32_t other)
{
	struct sched_event *e = &w->events.v[w->events.n++];

	assert_true(w->events.n <= w->events.cap);
	*e = (struct sched_event){ .time = ms * MS,
				   .kind = kind,
				   .cpu = cpu,
				   .tid = tid,
				   .other = other,
				   .prio = 120,
				   .other_prio = 120 };
	w->events.end = e->time;
	for (int i = 0; i < 2; i++)
		assert_non_null(sched_tasks__get(w->events.tasks, i ? other : tid));
	return e;
}

/* @tid stays runnable if @blocks is false. */
static void switches(struct why *w, uint64_t ms, uint32_t cpu, uint32_t tid, uint32_t next,
		     bool blocks)
{
	happens(w, ms, SCHED_SWITCH, cpu, tid, next)->arg = blocks;
}

static void moves(struct why *w, uint64_t ms, uint32_t tid, uint32_t to)
{
	happens(w, ms, SCHED_MIGRATE, 0, HOG, tid)->arg = to;
}

static void asked(struct why *w, struct why_question q, uint64_t from, uint64_t to)
{
	struct err err = { 0 };

	q.tid = SUBJECT;
	q.from = from * MS;
	q.to = to * MS;
	assert_int_equal(why__ask(w, &q, &err), 0);
}

static char *as_ms(uint64_t ns, char *buf, size_t size)
{
	snprintf(buf, size, "%llums", (unsigned long long)(ns / MS));
	return buf;
}

/* Node @i of @n and those beside it, the largest first */
static const struct why_node *sibling(const struct why_node *n, int i)
{
	for (; i; i--) {
		assert_non_null(n);
		n = n->next;
	}
	assert_non_null(n);
	return n;
}

/* What a node of the tree says: "20ms waited ...". */
static void node_says(const struct why *w, const struct why_node *n, const char *want)
{
	struct buf b = { 0 };

	assert_int_equal(buf__printf(&b, "%dms ", (int)(n->ns / MS)), 0);
	assert_int_equal(why_phrase__add(&b, w, n, as_ms), 0);
	assert_string_equal(b.data, want);
	buf__free(&b);
}

/* What node @i of the first level says */
static void says(const struct why *w, int i, const char *want)
{
	node_says(w, sibling(why__root(w)->child, i), want);
}

/* What part @i of the first cause says */
static void says_below(const struct why *w, int i, const char *want)
{
	node_says(w, sibling(sibling(why__root(w)->child, 0)->child, i), want);
}

/* The stack of @e would say this. */
static void noted(struct why *w, struct sched_event *e, struct stack_note note)
{
	w->notes.v = reallocarray(w->notes.v, w->notes.n + 1, sizeof(note));
	assert_non_null(w->notes.v);
	note.named = true;
	w->notes.v[w->notes.n++] = note;
	e->stack = w->notes.n;
}

static void waits_beside_an_idle_cpu(struct why *w)
{
	switches(w, 1, 0, OTHER, 0, true);
	switches(w, 10, 1, SUBJECT, HOG, false);
	switches(w, 30, 1, HOG, SUBJECT, false);
	switches(w, 40, 0, 0, OTHER, true);
}

static void test_beside_an_idle_cpu(void **state)
{
	static const char *const why[] = {
		[WHY_AFFINITY_UNKNOWN] = "it may run only on CPU 1, or was not moved",
		[WHY_AFFINITY_ONE] = "it may run only on CPU 1",
		[WHY_AFFINITY_SEVERAL] = "it may run on others, but was not moved",
	};
	char want[160];

	for (int i = WHY_AFFINITY_UNKNOWN; i <= WHY_AFFINITY_SEVERAL; i++) {
		struct why *w = story_begin();

		waits_beside_an_idle_cpu(w);
		asked(w, (struct why_question){ .affinity = i, .quota = WHY_QUOTA_NONE }, 10, 30);
		snprintf(want, sizeof(want),
			 "20ms waited for CPU 1 behind ?/2 (same priority), while CPU 0 "
			 "was idle: %s",
			 why[i]);
		says(w, 0, want);
		why__free(w);
	}
}

/*
 * The switch to the subject is missing, as on machines that hide what an idle CPU does. It may also
 * have run while records were lost.
 */
static void test_hidden_end(void **state)
{
	const char *const waited = "waited for CPU 1 behind ?/2 (same priority)";
	const char *const hidden =
		"unknown: its switch or wakeup was not recorded: record -e "
		"sched:sched_switch -e sched:sched_waking of all tasks (-a), or run = "
		"evidence";
	char want[2][192];

	for (int lost = 0; lost < 2; lost++) {
		struct why *w = story_begin();

		switches(w, 10, 1, SUBJECT, HOG, false);
		if (lost)
			happens(w, 20, SCHED_GAP, 0, 0, 0)->value = 12 * MS;
		switches(w, 30, 1, HOG, 0, true);
		switches(w, 35, 1, SUBJECT, HOG, false);
		asked(w, (struct why_question){ 0 }, 10, 35);
		snprintf(want[lost], sizeof(want[lost]), "%dms %s", lost ? 2 : 20, waited);
		snprintf(want[!lost], sizeof(want[!lost]), "%dms %s", lost ? 23 : 5, hidden);
		says(w, 0, want[0]);
		says(w, 1, want[1]);
		why__free(w);
	}
}

static uint64_t starts(struct why *w, uint64_t to_ms)
{
	struct err err = { 0 };

	assert_int_equal(why__ask(w,
				  &(struct why_question){
					  .tid = SUBJECT, .from = UINT64_MAX, .to = to_ms * MS },
				  &err),
			 0);
	return to_ms - why__root(w)->ns / MS;
}

/* A trigger without a duration is about the time since the last wait, or since the first event. */
static void test_since_the_last_wait(void **state)
{
	struct why *w = story_begin();

	happens(w, 20, SCHED_NEW, 1, HOG, SUBJECT);
	switches(w, 22, 1, HOG, SUBJECT, false);
	switches(w, 40, 1, SUBJECT, HOG, false);
	assert_int_equal(starts(w, 30), 20);
	says(w, 0, "8ms computed");
	why__free(w);

	w = story_begin();
	switches(w, 10, 1, SUBJECT, HOG, true);
	happens(w, 15, SCHED_WAKING, 0, OTHER, SUBJECT);
	switches(w, 20, 1, HOG, SUBJECT, false);
	switches(w, 40, 1, SUBJECT, HOG, false);
	assert_int_equal(starts(w, 30), 10);
	why__free(w);
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

/*
 * SUBJECT is runnable for 20 ms while its CPU idles. At 28 ms a timer expires, with a function of
 * this name.
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

/* An idle CPU is no proof of a quota: the state of the cgroup is, or a refill when it ends. */
static void test_kept_off_an_idle_cpu(void **state)
{
	const char *const unknown =
		"20ms unknown: it was runnable, but its cgroup had used up its CPU quota, or it "
		"waited for another reason: see cpu.stat of the cgroup, and record -e "
		"timer:hrtimer_expire_entry of all tasks (-a)";
	const char *const throttled =
		"20ms was throttled: its cgroup had used up its CPU quota (cpu.max)";
	const char *const idle =
		"20ms unknown: it was runnable, and its CPU was idle: without run = "
		"evidence it may be a CPU quota; with it, a CPU or a hypervisor slow to leave "
		"idle";
	const struct why_question no_state = { 0 };
	struct why *w = runnable_beside_idle("sched_cfs_period_timer");

	w->events.recorded[SCHED_TIMER] = false;
	check_kept_off(w, no_state, unknown);
	check_kept_off(runnable_beside_idle(NULL), no_state, unknown);
	check_kept_off(runnable_beside_idle("tick_nohz_handler"), no_state, idle);

	w = runnable_beside_idle("sched_cfs_period_timer"); /* and still waits beside an idle CPU */
	check_kept_off(w, no_state, idle);
	w = runnable_beside_idle("sched_cfs_period_timer");
	w->events.v[1].time = 30 * MS - 1000;
	w->events.v[2].time = w->events.v[1].time;
	asked(w, no_state, 10, 30);
	says(w, 0, "19ms was throttled: its cgroup had used up its CPU quota (cpu.max)");
	why__free(w);

	check_kept_off(runnable_beside_idle(NULL), (struct why_question){ .quota = WHY_QUOTA_SET },
		       throttled);
	check_kept_off(runnable_beside_idle(NULL),
		       (struct why_question){ .quota = WHY_QUOTA_HIDDEN }, throttled);
	check_kept_off(runnable_beside_idle("sched_cfs_period_timer"),
		       (struct why_question){ .quota = WHY_QUOTA_NONE }, idle);
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

static void named(struct why *w, uint32_t tid, const char *comm)
{
	snprintf(sched_tasks__get(w->events.tasks, tid)->comm, SCHED_COMM, "%s", comm);
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
		     "20ms waited for CPU 1 behind kworker/1:0/2 (same priority), on "
		     "behalf of dd/3");
	check_behind("kswapd0", 0,
		     "20ms waited for CPU 1 behind kswapd0/2 (same priority), on behalf of "
		     "dd/3");
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

/* A worker of a server computes on behalf of the task that woke it. */
static void test_worker_in_a_chain(void **state)
{
	struct why *w = story_begin();
	const struct why_node *n;
	struct buf b = { 0 };

	switches(w, 1, 1, HOG, 0, true);
	happens(w, 8, SCHED_WAKING, 0, OTHER, HOG)->arg = 1;
	switches(w, 9, 1, 0, HOG, false);
	switches(w, 10, 0, SUBJECT, 0, true);
	happens(w, 30, SCHED_WAKING, 1, HOG, SUBJECT);
	switches(w, 30, 0, 0, SUBJECT, false);
	switches(w, 40, 1, HOG, 0, true);
	named(w, HOG, "kworker/1:0");
	named(w, OTHER, "dd");
	asked(w, (struct why_question){ 0 }, 10, 30);
	n = why__root(w)->child;
	assert_non_null(n);
	n = n->child;
	assert_non_null(n);
	assert_int_equal(why_phrase__add(&b, w, n, as_ms), 0);
	assert_string_equal(b.data, "computed, on behalf of dd/3");
	buf__free(&b);
	why__free(w);
}

/* SUBJECT waits twice; the first wait has a sample of offcpu-time with a stack. */
static struct why *waits_with_stay(uint64_t ms, uint64_t ns, bool has_stack)
{
	struct why *w = story_begin();
	struct sched_event *e;

	w->events.stays = true;
	switches(w, 2, 0, SUBJECT, 0, true);
	happens(w, 9, SCHED_WAKING, 1, OTHER, SUBJECT);
	switches(w, 10, 0, 0, SUBJECT, false);
	e = happens(w, ms, SCHED_STAY, 0, SUBJECT, SUBJECT);
	e->value = ns;
	e->has_stack = has_stack;
	e->sample = 77;
	switches(w, 11, 0, SUBJECT, 0, true);
	happens(w, 14, SCHED_WAKING, 1, OTHER, SUBJECT);
	switches(w, 14, 0, 0, SUBJECT, false);
	return w;
}

static void check_out(struct why *w, uint32_t i, bool has_stack, uint32_t sample)
{
	assert_int_equal(w->events.v[i].kind, SCHED_SWITCH);
	assert_int_equal(w->events.v[i].has_stack, has_stack);
	assert_int_equal(w->events.v[i].sample, sample);
}

/* A sample of offcpu-time is the stack of the switch that began its wait, and of no other. */
static void test_stack_of_a_wait(void **state)
{
	struct why *w = waits_with_stay(10, 8 * MS, true);

	asked(w, (struct why_question){ 0 }, 2, 14);
	check_out(w, 0, true, 77);
	check_out(w, 4, false, 0);
	says(w, 0, "7ms waited, until woken by ?/3");
	says(w, 1, "3ms waited (stack not recorded), until woken by ?/3");
	why__free(w);

	w = waits_with_stay(10, 7 * MS, true); /* the switch that began it was lost */
	asked(w, (struct why_question){ 0 }, 2, 14);
	check_out(w, 0, false, 0);
	says(w, 0, "10ms waited (stack not recorded), until woken by ?/3");
	why__free(w);

	w = waits_with_stay(10, 8 * MS, false);
	asked(w, (struct why_question){ 0 }, 2, 14);
	check_out(w, 0, false, 0);
	why__free(w);

	w = waits_with_stay(10, 8 * MS, true); /* a stack that was recorded with the switch stays */
	w->events.v[0].has_stack = true;
	w->events.v[0].sample = 5;
	asked(w, (struct why_question){ 0 }, 2, 14);
	check_out(w, 0, true, 5);
	why__free(w);
}

/*
 * A wait that began before the recording: its only event, or the event with its end, is the sample.
 */
static void test_wait_from_before(void **state)
{
	for (int woken = 0; woken < 2; woken++) {
		struct why *w = story_begin();
		struct sched_event *e;

		w->events.stays = true;
		switches(w, 1, 0, OTHER, HOG, true);
		if (woken) {
			happens(w, 9, SCHED_WAKING, 1, HOG, SUBJECT);
			switches(w, 10, 0, HOG, SUBJECT, true);
		}
		e = happens(w, 10, SCHED_STAY, 0, SUBJECT, 0);
		e->value = 100 * MS;
		e->has_stack = true;
		switches(w, 12, 1, OTHER, HOG, true);
		asked(w, (struct why_question){ 0 }, 1, 10);
		says(w, 0, woken ? "8ms waited, until woken by ?/2" : "9ms waited");
		why__free(w);
	}
}

/* The events are in a file of this name. */
static void comes_from(struct why *w, const char *path)
{
	w->events.files = calloc(1, sizeof(*w->events.files));
	assert_non_null(w->events.files);
	w->events.files[0] = strdup(path);
	assert_non_null(w->events.files[0]);
	w->events.n_files = 1;
}

/* Ask from 10 to 30 ms, and free @w. What to look at next is @want, also in JSON and on a line. */
static void next_is(struct why *w, struct why_question q, const char *want)
{
	struct why_verdict v = { 0 };
	struct buf b = { 0 };
	char line[300];
	json_t *j;

	asked(w, q, 10, 30);
	assert_int_equal(why_verdict__make(&v, w, as_ms), 0);
	assert_string_equal(v.next.data, want);
	j = why_json__verdict(&v);
	assert_string_equal(json_string_value(json_object_get(j, "next")), want);
	json_decref(j);
	assert_int_equal(why_text__answer(&b, w, &v, as_ms, NULL), 0);
	snprintf(line, sizeof(line), "\n    next: %s\n", want);
	assert_ptr_equal(strstr(b.data, line), strchr(b.data, '\n'));
	buf__free(&b);
	why_verdict__free(&v);
	why__free(w);
}

/* SUBJECT runs from 10 to 40 ms. */
static struct why *story_computes(void)
{
	struct why *w = story_begin();

	switches(w, 5, 1, HOG, SUBJECT, true);
	comes_from(w, "a b.data");
	return w;
}

static void test_next_of_time_on_a_cpu(void **state)
{
	struct why *w = story_computes();

	happens(w, 20, SCHED_SAMPLE, 1, SUBJECT, SUBJECT);
	switches(w, 40, 1, SUBJECT, HOG, true);
	next_is(w, (struct why_question){ 0 },
		"perf report -i 'a b.data' --tid 1 --time 0.010000,0.030001");

	w = story_computes();
	switches(w, 40, 1, SUBJECT, HOG, true);
	named(w, SUBJECT, "dd");
	next_is(w, (struct why_question){ 0 },
		"record -e cpu-clock -F 99 -g for the functions that dd/1 runs");

	w = story_computes(); /* between two samples */
	w->events.samples = true;
	switches(w, 40, 1, SUBJECT, HOG, true);
	next_is(w, (struct why_question){ 0 },
		"for the functions that ?/1 runs: a higher -F, no sample fell into this time");

	w = story_computes();
	happens(w, 10, SCHED_IRQ, 1, SUBJECT, 0)->arg = 24;
	happens(w, 29, SCHED_IRQ_END, 1, SUBJECT, 0)->arg = 24;
	switches(w, 40, 1, SUBJECT, HOG, true);
	next_is(w, (struct why_question){ 0 },
		"grep '^ *24:' /proc/interrupts; cat /proc/irq/24/smp_affinity_list");
}

static struct why *story_of_reclaim(enum sched_kind kind)
{
	struct why *w = story_computes();

	happens(w, 10, kind, 1, SUBJECT, 0);
	happens(w, 29, kind + 1, 1, SUBJECT, 0);
	switches(w, 40, 1, SUBJECT, HOG, true);
	return w;
}

static void test_next_of_limits(void **state)
{
	next_is(story_of_reclaim(SCHED_CGROUP_RECLAIM),
		(struct why_question){ .limits[WHY_LIMIT_MEMORY] = { "/user.slice/x" } },
		"memory.max, memory.high and memory.events in /sys/fs/cgroup/user.slice/x");
	next_is(story_of_reclaim(SCHED_CGROUP_RECLAIM),
		(struct why_question){ .limits[WHY_LIMIT_MEMORY] = { "/memory/x", true } },
		"memory.limit_in_bytes and memory.failcnt in /sys/fs/cgroup/memory/x");
	next_is(story_of_reclaim(SCHED_CGROUP_RECLAIM), (struct why_question){ 0 },
		"memory.max, memory.high and memory.events of the cgroup in /proc/1/cgroup, and "
		"of those above it");
	next_is(story_of_reclaim(SCHED_RECLAIM), (struct why_question){ 0 },
		"/proc/meminfo; ps -eo pid,rss,comm --sort=-rss | head");
}

static void test_next_of_waits(void **state)
{
	struct why *w = story_computes();

	switches(w, 10, 1, SUBJECT, HOG, false);
	switches(w, 30, 1, HOG, SUBJECT, false);
	named(w, HOG, "hog");
	next_is(w, (struct why_question){ 0 },
		"chrt -p 2; record -e cpu-clock -F 99 -g for the functions that hog/2 runs");

	w = story_computes(); /* the waker is unknown */
	w->events.recorded[SCHED_WAKING] = false;
	switches(w, 10, 1, SUBJECT, 0, true);
	switches(w, 30, 1, 0, SUBJECT, false);
	switches(w, 40, 1, SUBJECT, HOG, true);
	next_is(w, (struct why_question){ 0 }, "record -e sched:sched_waking -g of all tasks (-a)");
}

static void answers(const struct why *w, const struct why_screen *screen, const char *want)
{
	struct why_verdict v = { 0 };
	struct buf b = { 0 };

	assert_int_equal(why_verdict__make(&v, w, as_ms), 0);
	assert_int_equal(why_text__answer(&b, w, &v, as_ms, screen), 0);
	assert_string_equal(strstr(b.data, "next: "), want);
	buf__free(&b);
	why_verdict__free(&v);
}

/* All of the tree has points in time, and all functions with their shares. */
static void test_verbose_tree(void **state)
{
	const struct why_screen screen = { WHY_LINES, 0 };
	struct why *w = story_computes();
	struct why_node *n;

	happens(w, 1234567, SCHED_SAMPLE, 1, SUBJECT, SUBJECT);
	switches(w, 1234568, 1, SUBJECT, HOG, true);
	asked(w, (struct why_question){ 0 }, 1234567, 1234568);
	n = w->root->child;
	n->samples = 8;
	n->functions[0] = (struct why_function){ "main", NULL, 1 };
	n->functions[2] = (struct why_function){ "_ZN1a1bEv", "write", 6 };
	why_tree__sort(n);
	answers(w, NULL,
		"next: perf report -i 'a b.data' --tid 1 --time 1234.567000,1234.568001\n"
		" 100.0 %  1ms        1234.567000  computed, mostly in a::b (write); of 8 "
		"samples "
		"75 % in a::b (write), 12 % in main\n");
	answers(w, &screen,
		"next: perf report -i 'a b.data' --tid 1 --time 1234.567000,1234.568001\n"
		" 100.0 %  1ms      computed, mostly in a::b (write)\n");
	why__free(w);
}

/* The note of an answer in JSON, or NULL; and the text has the same, with -v only. */
static void has_note(struct why *w, bool want)
{
	const struct why_screen screen = { WHY_LINES, 0 };
	struct why_verdict v = { 0 };
	struct buf all = { 0 }, some = { 0 };
	const char *note;
	json_t *j;

	asked(w, (struct why_question){ 0 }, 10, 30);
	assert_int_equal(why_verdict__make(&v, w, as_ms), 0);
	assert_int_equal(why_text__answer(&all, w, &v, as_ms, NULL), 0);
	assert_int_equal(why_text__answer(&some, w, &v, as_ms, &screen), 0);
	assert_null(strstr(some.data, "interrupts were not recorded"));
	j = why_json__new(w, &v);
	note = json_string_value(json_object_get(j, "note"));
	assert_true(!note == !want);
	assert_true(!strstr(all.data, "interrupts were not recorded") == !want);
	if (want) {
		assert_string_equal(note, "interrupts were not recorded, time that a task computed "
					  "may be theirs: run = evidence records them");
		assert_non_null(strstr(all.data, note));
	}
	json_decref(j);
	buf__free(&all);
	buf__free(&some);
	why_verdict__free(&v);
	why__free(w);
}

/* Without events of interrupts, their time looks like the task's. */
static void test_interrupts_not_recorded(void **state)
{
	static const enum sched_kind kinds[] = { SCHED_IRQ, SCHED_SOFTIRQ, SCHED_INTERRUPT };
	struct why *w;

	for (size_t only = 0; only <= 3; only++) { /* any of them will do; 3: none is there */
		w = story_computes();
		for (size_t i = 0; i < 3; i++)
			w->events.recorded[kinds[i]] = i == only;
		switches(w, 40, 1, SUBJECT, HOG, true);
		has_note(w, only == 3);
	}
	w = story_computes(); /* nobody computed */
	for (size_t i = 0; i < 3; i++)
		w->events.recorded[kinds[i]] = false;
	switches(w, 8, 1, SUBJECT, HOG, true);
	switches(w, 40, 1, HOG, 0, true);
	has_note(w, false);
}

/* What a manifest with this state says about the trigger at 7 ns */
static struct why_question question_of(const char *state)
{
	struct why_question q = { .to = 7 };
	json_t *m = json_pack("{s:[{s:{s:I}, s:o}]}", "triggers", "time", "monotonic_ns",
			      (json_int_t)7, "state", json_loads(state, 0, NULL));

	assert_non_null(m);
	why_incident__fill_question(m, &q);
	json_decref(m);
	return q;
}

static void test_limits_in_a_manifest(void **state)
{
	struct why_question q = question_of(
		"{\"cpu\": [{\"cgroup\": \"/a/b\", \"quota_ns\": 5, \"throttled\": 0},"
		"{\"cgroup\": \"/a\", \"quota_ns\": 5, \"throttled\": 3}],"
		"\"memory\": [{\"cgroup\": \"/m\", \"max\": 5, \"max_events\": 3}],"
		"\"io\": [{\"cgroup\": \"/i\"}, {\"cgroup\": \"/\", \"max\": [\"8:0 rbps=1\"]}]}");

	assert_string_equal(q.limits[WHY_LIMIT_CPU].path, "/a");
	assert_false(q.limits[WHY_LIMIT_CPU].v1);
	assert_string_equal(q.limits[WHY_LIMIT_MEMORY].path, "/memory/m");
	assert_true(q.limits[WHY_LIMIT_MEMORY].v1);
	assert_string_equal(q.limits[WHY_LIMIT_IO].path, "/");
	assert_false(q.limits[WHY_LIMIT_IO].v1);
	/* which of two quotas was used up is unknown */
	q = question_of("{\"cpu\": [{\"cgroup\": \"/a/b\", \"quota_ns\": 5, \"throttled\": 1},"
			"{\"cgroup\": \"/a\", \"quota_ns\": 5, \"throttled\": 3}]}");
	assert_string_equal(q.limits[WHY_LIMIT_CPU].path, "");
}

/* SUBJECT, a thread, is reclaiming for most of the time: what the question knows is said. */
static void verdict_is(struct why_question q, const char *want, const char *who)
{
	struct why *w = story_of_reclaim(SCHED_CGROUP_RECLAIM);
	struct why_verdict v = { 0 };
	struct buf b = { 0 };
	char line[200];

	named(w, SUBJECT, "worker");
	named(w, OTHER, "pg");
	assert_int_equal(sched_tasks__set_own(w->events.tasks,
					      sched_tasks__get(w->events.tasks, SUBJECT), SUBJECT,
					      OTHER),
			 0);
	asked(w, q, 10, 30);
	assert_int_equal(why_verdict__make(&v, w, as_ms), 0);
	assert_string_equal(v.text.data, want);
	assert_int_equal(why_text__answer(&b, w, &v, as_ms, NULL), 0);
	snprintf(line, sizeof(line), "\n     who: worker/1 of process pg/3%s\n", who);
	assert_non_null(strstr(b.data, line));
	buf__free(&b);
	why_verdict__free(&v);
	why__free(w);
}

static void test_what_a_manifest_adds(void **state)
{
	struct why_question q = question_of(
		"{\"command\": \"pg -D x\", \"cgroup\": \"/s/pg\", \"memory\": [{\"cgroup\": "
		"\"/s/pg\", \"max\": 5, \"max_events\": 3, \"oom_kills\": 0}]}");

	verdict_is(q,
		   "95 % of 20ms: worker/1 reclaimed memory, because its cgroup /s/pg was at its "
		   "limit (memory.max, memory.high)",
		   ": pg -D x, in cgroup /s/pg");
	verdict_is((struct why_question){ .stolen_ns = 1, .cpu_ns = 8 },
		   "95 % of 20ms: worker/1 reclaimed memory, because its cgroup was at its limit "
		   "(memory.max, memory.high); in these seconds a hypervisor took 13 % of the CPU "
		   "time",
		   "");
	verdict_is((struct why_question){ .stolen_ns = 1, .cpu_ns = 80 },
		   "95 % of 20ms: worker/1 reclaimed memory, because its cgroup was at its limit "
		   "(memory.max, memory.high)",
		   "");
}

/* The seconds that the interval touches are added up. */
static void test_stolen_time(void **state)
{
	struct why_question q = { .to = 2500 };
	json_t *m = json_loads("{\"triggers\": [{\"time\": {\"monotonic_ns\": 2500}, \"value_ns\": "
			       "1000}], \"vitals\": {\"end_monotonic_ns\": [1000, 2000, 3000, "
			       "4000], \"length_ns\": [1000, 1000, 1000, 1000], \"steal_ns\": [1, "
			       "2, 4, 8], \"idle_ns\": [10, 20, 40, 80]}}",
			       0, NULL);

	assert_non_null(m);
	why_incident__fill_question(m, &q);
	json_decref(m);
	assert_int_equal(q.stolen_ns, 2 + 4);
	assert_int_equal(q.cpu_ns, 2 + 4 + 20 + 40);
}

static void test_weight(void **state)
{
	struct why_question q = question_of("{\"cgroup\": \"/w\", \"cpu\": [{\"cgroup\": \"/w\", "
					    "\"weight\": 20}]}");
	struct why *w = story_computes();

	switches(w, 10, 1, SUBJECT, HOG, false);
	switches(w, 30, 1, HOG, SUBJECT, false);
	asked(w, q, 10, 30);
	says(w, 0,
	     "20ms waited for CPU 1 behind ?/2 (same priority; its cgroup has cpu.weight 20)");
	why__free(w);
	q = question_of("{\"cgroup\": \"/w\", \"cpu\": [{\"cgroup\": \"/\", \"weight\": 20}]}");
	assert_int_equal(q.weight, 0);
}

/* The sentence about unknown time names what would have recorded it, whatever is missing. */
static void test_what_to_record(void **state)
{
	for (int m = MISSING_NOTHING + 1; m < MISSING_KINDS; m++) {
		struct why *w = story_computes();
		struct buf b = { 0 }, record = { 0 };
		struct why_node *n;

		switches(w, 40, 1, SUBJECT, HOG, true);
		asked(w, (struct why_question){ 0 }, 10, 30);
		n = w->root->child;
		n->key.type = WHY_UNKNOWN;
		n->key.missing = m;
		assert_int_equal(why_missing__add_record(&record, w, m), 0);
		assert_true(record.len > 10);
		assert_int_equal(why_phrase__add(&b, w, n, as_ms), 0);
		assert_non_null(strstr(b.data, record.data));
		buf__free(&b);
		buf__free(&record);
		why__free(w);
	}
}

/* A ring that is proposed holds more than the interval, and more than the ring that there was. */
static void test_ring_to_record(void **state)
{
	static const struct {
		uint64_t from_ms, end_ms;
		const char *want;
	} cases[] = {
		{ 10, 40, "ring = 20s " },
		{ 30000, 30500, "ring = 62s " },
		{ 1000, 45000, "ring = 90s " },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct why *w = story_computes();
		struct buf b = { 0 };

		switches(w, cases[i].end_ms, 1, SUBJECT, HOG, true);
		asked(w, (struct why_question){ 0 }, cases[i].from_ms, cases[i].end_ms);
		assert_int_equal(why_missing__add_record(&b, w, MISSING_BEFORE), 0);
		assert_non_null(strstr(b.data, cases[i].want));
		buf__free(&b);
		why__free(w);
	}
}

#define DISK 0x800000

static void request(struct why *w, uint64_t ms, enum sched_kind kind, uint32_t tid, uint64_t sector)
{
	struct sched_event *e = happens(w, ms, kind, 1, tid, 0);

	e->arg = DISK;
	e->value = sector;
}

/* A request ends, and with it the wait of SUBJECT, which ends the recording. */
static void request_wakes(struct why *w, uint64_t ms, uint64_t sector)
{
	struct sched_event *e;

	request(w, ms, SCHED_RQ_COMPLETE, 0, sector);
	e = happens(w, ms, SCHED_WAKING, 1, 0, SUBJECT);
	e->flags = SCHED_HARDIRQ;
	noted(w, e, (struct stack_note){ .context = WAKE_BLOCK });
	switches(w, ms, 0, 0, SUBJECT, false);
	switches(w, ms + 10, 0, SUBJECT, 0, true);
}

/* Without events of requests, it is not known for whom the device worked. */
static void test_requests_not_recorded(void **state)
{
	struct why *w = story_begin();
	struct why_verdict v = { 0 };

	w->events.recorded[SCHED_RQ_ISSUE] = false;
	switches(w, 10, 0, SUBJECT, 0, true);
	request_wakes(w, 30, 8);
	asked(w, (struct why_question){ 0 }, 10, 30);
	says(w, 0, "20ms waited, until a request to a device completed");
	says_below(w, 0,
		   "20ms unknown: for whom the device worked was not recorded: record -e "
		   "block:block_rq_insert -e block:block_rq_issue -e block:block_rq_complete of "
		   "all tasks (-a)");
	assert_int_equal(why__unknown_ns(w), 20 * MS);
	assert_int_equal(why_verdict__make(&v, w, as_ms), 0);
	assert_int_equal(v.cause, CAUSE_UNKNOWN);
	assert_int_equal(v.missing, MISSING_REQUESTS);
	why_verdict__free(&v);
	why__free(w);
}

/* A request whose end is not among the events was not surely one of the task. */
static void test_request_end_lost(void **state)
{
	struct why *w = story_begin();

	switches(w, 10, 0, SUBJECT, 0, true);
	request(w, 10, SCHED_RQ_ISSUE, SUBJECT, 8);
	request_wakes(w, 30, 8);
	w->events.v[2].kind = SCHED_RQ_ISSUE;
	asked(w, (struct why_question){ 0 }, 10, 30);
	assert_int_equal(why__unknown_ns(w), 20 * MS);
	why__free(w);
}

/* SUBJECT waits for a device that serves the request of OTHER first. */
static struct why *waits_for_device(void)
{
	struct why *w = story_begin();

	request(w, 2, SCHED_RQ_ISSUE, OTHER, 16);
	switches(w, 3, 0, OTHER, SUBJECT, true);
	request(w, 10, SCHED_RQ_ISSUE, SUBJECT, 8);
	switches(w, 10, 0, SUBJECT, 0, true);
	return w;
}

static void check_requeued(struct why *w, const char *other)
{
	request(w, 25, SCHED_RQ_COMPLETE, 0, 16);
	request_wakes(w, 30, 8);
	asked(w, (struct why_question){ 0 }, 10, 30);
	says(w, 0,
	     "20ms waited, until a request to device 8:0 completed (sector 8, 0ms in the queue, "
	     "20ms in the device)");
	says_below(w, 0, other);
	says_below(w, 1, "5ms device 8:0 worked for its own requests");
	why__free(w);
}

/* A request that the device refuses at first stays that of its sender. */
static void test_requeued_requests(void **state)
{
	const char *const of_other = "15ms device 8:0 worked for ?/3";
	struct why *w = waits_for_device();

	check_requeued(w, of_other);

	w = waits_for_device(); /* a kernel worker issues it again */
	request(w, 11, SCHED_RQ_REQUEUE, OTHER, 16);
	request(w, 12, SCHED_RQ_ISSUE, HOG, 16);
	check_requeued(w, of_other);

	w = waits_for_device(); /* and inserts it before */
	request(w, 11, SCHED_RQ_REQUEUE, OTHER, 16);
	request(w, 12, SCHED_RQ_INSERT, HOG, 16);
	request(w, 12, SCHED_RQ_ISSUE, HOG, 16);
	check_requeued(w, of_other);

	w = waits_for_device(); /* it was sent before the recording began */
	w->events.v[0].value = 24;
	request(w, 11, SCHED_RQ_REQUEUE, OTHER, 16);
	request(w, 12, SCHED_RQ_ISSUE, HOG, 16);
	check_requeued(w, "14ms device 8:0 worked for a task that was not recorded");

	w = waits_for_device(); /* a new request at that sector is of its own sender */
	request(w, 11, SCHED_RQ_REQUEUE, OTHER, 16);
	request(w, 12, SCHED_RQ_ISSUE, HOG, 16);
	request(w, 13, SCHED_RQ_COMPLETE, 0, 16);
	request(w, 13, SCHED_RQ_INSERT, HOG, 16);
	request(w, 13, SCHED_RQ_ISSUE, HOG, 16);
	check_requeued(w, "12ms device 8:0 worked for ?/2");
}

/* The time in the queue begins when the request was first sent. */
static void test_requeued_request_of_its_own(void **state)
{
	struct why *w = waits_for_device();

	request(w, 11, SCHED_RQ_REQUEUE, HOG, 8);
	request(w, 22, SCHED_RQ_ISSUE, HOG, 8);
	request_wakes(w, 30, 8);
	asked(w, (struct why_question){ 0 }, 10, 30);
	says(w, 0,
	     "20ms waited, until a request to device 8:0 completed (sector 8, 12ms in the queue, "
	     "8ms in the device)");
	says_below(w, 0, "20ms device 8:0 worked for its own requests");
	why__free(w);
}

/* SUBJECT waits for CPU 1 for 20 ms; NET_RX and IRQ 24 interrupt what is there. */
static struct why *waits_while_interrupted(uint32_t on_cpu)
{
	struct why *w = story_begin();

	switches(w, 1, 1, HOG, on_cpu, true);
	happens(w, 10, SCHED_WAKING, 0, OTHER, SUBJECT)->arg = 1;
	happens(w, 11, SCHED_SOFTIRQ, 1, on_cpu, 0)->arg = 3;
	happens(w, 23, SCHED_SOFTIRQ_END, 1, on_cpu, 0)->arg = 3;
	happens(w, 25, SCHED_IRQ, 1, on_cpu, 0)->arg = 24;
	happens(w, 27, SCHED_IRQ_END, 1, on_cpu, 0)->arg = 24;
	switches(w, 30, 1, on_cpu, SUBJECT, false);
	switches(w, 40, 1, SUBJECT, 0, true);
	sched_tasks__get(w->events.tasks, SUBJECT)->prio = 120;
	return w;
}

/* Interrupts that keep a task off its CPU count neither as the task there, nor as idle time. */
static void test_interrupted_queue(void **state)
{
	const char *const softirq =
		"12ms waited for CPU 1, which was interrupted by softirq net_rx";
	const char *const irq = "2ms waited for CPU 1, which was interrupted by IRQ 24";
	struct why *w = waits_while_interrupted(4);
	struct why_verdict v = { 0 };

	asked(w, (struct why_question){ 0 }, 10, 30);
	says(w, 0, softirq);
	says(w, 1, "6ms waited for CPU 1 behind ?/4 (same priority)");
	says(w, 2, irq);
	assert_int_equal(why_verdict__make(&v, w, as_ms), 0);
	assert_int_equal(v.cause, CAUSE_INTERRUPT);
	why_verdict__free(&v);
	why__free(w);

	w = waits_while_interrupted(0);
	asked(w, (struct why_question){ .quota = WHY_QUOTA_NONE }, 10, 30);
	says(w, 0, softirq);
	says(w, 2, irq);
	assert_int_equal(why__unknown_ns(w), 6 * MS);
	why__free(w);

	w = waits_while_interrupted(4); /* its softirqs are the work of ksoftirqd */
	named(w, 4, "ksoftirqd/1");
	asked(w, (struct why_question){ 0 }, 10, 30);
	says(w, 0,
	     "18ms waited for CPU 1 behind ksoftirqd/1/4 (same priority), for softirq net_rx");
	says(w, 1, irq);
	why__free(w);
}

/* The event has this handler. */
static void handled_by(struct why *w, struct sched_event *e, const char *name)
{
	struct sched_events *events = &w->events;

	events->handlers = reallocarray(events->handlers, events->n_handlers + 1, SCHED_HANDLER);
	assert_non_null(events->handlers);
	snprintf(events->handlers[events->n_handlers], SCHED_HANDLER, "%s", name);
	e->handler = ++events->n_handlers;
}

/* The member "handler" of node @i of the first level */
static void has_handler_in_json(const struct why *w, size_t i, const char *want)
{
	struct why_verdict v = { 0 };
	json_t *j, *node;

	assert_int_equal(why_verdict__make(&v, w, as_ms), 0);
	j = why_json__new(w, &v);
	node = json_array_get(json_object_get(json_object_get(j, "tree"), "causes"), i);
	assert_int_equal(json_integer_value(json_object_get(node, "irq")), 24);
	node = json_object_get(node, "handler");
	assert_true(want ? json_is_string(node) : json_is_null(node));
	if (want)
		assert_string_equal(json_string_value(node), want);
	json_decref(j);
	why_verdict__free(&v);
}

/* Handlers that share a line are told apart; a name cannot break a terminal. */
static void test_handlers_of_irqs(void **state)
{
	static const char *const names[] = { "virtio0", "\033[2Jeth0", NULL, "virtio0" };
	struct why *w = story_computes();
	struct why_verdict v = { 0 };

	for (int i = 0; i < 4; i++) {
		struct sched_event *e = happens(w, 11 + 3 * i, SCHED_IRQ, 1, SUBJECT, 0);

		e->arg = 24;
		if (names[i])
			handled_by(w, e, names[i]);
		if (i == 3) /* the same, not another name */
			e->handler = 1;
		happens(w, (i == 2 ? 12 : 13) + 3 * i, SCHED_IRQ_END, 1, SUBJECT, 0)->arg = 24;
	}
	switches(w, 40, 1, SUBJECT, HOG, true);
	asked(w, (struct why_question){ 0 }, 11, 23);
	says(w, 0, "5ms computed");
	says(w, 1, "4ms was interrupted by IRQ 24 (virtio0)");
	says(w, 2, "2ms was interrupted by IRQ 24 (?[2Jeth0)");
	says(w, 3, "1ms was interrupted by IRQ 24");
	has_handler_in_json(w, 1, "virtio0");
	has_handler_in_json(w, 2, "\033[2Jeth0");
	has_handler_in_json(w, 3, NULL);
	why__free(w);

	w = waits_while_interrupted(0); /* of frbpf:interrupt, and in the verdict */
	w->events.n = 2;
	for (int i = 0; i < 2; i++) {
		struct sched_event *e = happens(w, 29, SCHED_INTERRUPT, 1, 0, 0);

		e->value = (i ? 2 : 18) * MS;
		e->arg = i ? UINT32_MAX : 24;
		e->prio = 0;
		if (!i)
			handled_by(w, e, "nvme0q1");
	}
	w->events.v[3].time = 31 * MS;
	switches(w, 31, 1, 0, SUBJECT, false);
	switches(w, 40, 1, SUBJECT, 0, true);
	asked(w, (struct why_question){ .quota = WHY_QUOTA_NONE }, 10, 31);
	says(w, 0, "18ms waited for CPU 1, which was interrupted by IRQ 24 (nvme0q1)");
	says(w, 1, "2ms waited for CPU 1, which was interrupted by several IRQs");
	assert_int_equal(why_verdict__make(&v, w, as_ms), 0);
	assert_string_equal(v.text.data, "86 % of 21ms: ?/1 waited for CPU 1, which was "
					 "interrupted by IRQ 24 (nvme0q1)");
	why_verdict__free(&v);
	why__free(w);
}

/* A CPU that is busy with an interrupt does not idle: that is no sign of a quota. */
static void test_interrupted_idle_cpu(void **state)
{
	struct why *w = story_begin();

	w->events.recorded[SCHED_TIMER] = false;
	switches(w, 10, 1, SUBJECT, 0, false);
	happens(w, 10, SCHED_SOFTIRQ, 1, 0, 0)->arg = 3;
	happens(w, 30, SCHED_SOFTIRQ_END, 1, 0, 0)->arg = 3;
	switches(w, 30, 1, 0, SUBJECT, false);
	switches(w, 40, 1, SUBJECT, 0, true);
	sched_tasks__get(w->events.tasks, SUBJECT)->prio = 120;
	asked(w, (struct why_question){ 0 }, 10, 30);
	says(w, 0, "20ms waited for CPU 1, which was interrupted by softirq net_rx");
	why__free(w);
}

/* HOG, a kernel thread of this name, sends the request that the device serves before SUBJECT's. */
static void check_served_for(const char *comm, uint32_t waker, uint8_t flags, const char *want,
			     const char *chain)
{
	struct why_verdict v = { 0 };
	struct why *w = story_begin();
	struct sched_event *e;

	switches(w, 2, 1, HOG, 0, true);
	e = happens(w, 3, SCHED_WAKING, 0, waker, HOG);
	e->arg = 1;
	e->flags = flags;
	switches(w, 4, 1, 0, HOG, false);
	request(w, 5, SCHED_RQ_ISSUE, HOG, 16);
	request(w, 10, SCHED_RQ_ISSUE, SUBJECT, 8);
	switches(w, 10, 0, SUBJECT, 0, true);
	request(w, 25, SCHED_RQ_COMPLETE, HOG, 16);
	switches(w, 26, 1, HOG, 0, true);
	request_wakes(w, 30, 8);
	named(w, HOG, comm);
	named(w, waker, "dd");
	asked(w, (struct why_question){ 0 }, 10, 30);
	says_below(w, 0, want);
	assert_int_equal(why_verdict__make(&v, w, as_ms), 0);
	assert_string_equal(v.chain.data, chain);
	why_verdict__free(&v);
	why__free(w);
}

/* A device that works for a kernel thread works for the task that gave that thread its work. */
static void test_served_on_behalf(void **state)
{
	const char *const of_others = "unknown<others-requests";

	check_served_for("kworker/1:0", OTHER, 0,
			 "15ms device 8:0 worked for kworker/1:0/2, on behalf of dd/3", of_others);
	check_served_for("jbd2/vda-8", OTHER, 0,
			 "15ms device 8:0 worked for jbd2/vda-8/2, on behalf of dd/3", of_others);
	check_served_for("jbd2/vda-8", SUBJECT, 0,
			 "15ms device 8:0 worked for jbd2/vda-8/2, on behalf of dd/1",
			 "unknown<device");
	check_served_for("kworker/1:0", OTHER, SCHED_HARDIRQ,
			 "15ms device 8:0 worked for kworker/1:0/2", of_others);
	check_served_for("cat", OTHER, 0, "15ms device 8:0 worked for cat/2", of_others);
}

/* What a manifest says about a call from 10 to 30 ms, with these values of its event */
static struct why_question question_of_call(const char *args, json_int_t value, json_int_t window)
{
	struct why_question q = { .to = 30 * MS };
	json_t *m = json_pack("{s:[{s:{s:I}, s:s, s:o, s:I, s:I}]}", "triggers", "time",
			      "monotonic_ns", (json_int_t)(30 * MS), "call", "recvfrom(...) = 1",
			      "args", json_loads(args, 0, NULL), "value_ns",
			      (json_int_t)(value * MS), "window_ns", (json_int_t)(window * MS));

	assert_non_null(m);
	why_incident__fill_question(m, &q);
	json_decref(m);
	return q;
}

static void check_peer(struct why_question q, const char *want)
{
	struct why *w = story_begin();
	struct sched_event *e;
	char text[160];

	switches(w, 10, 0, SUBJECT, 0, true);
	e = happens(w, 30, SCHED_WAKING, 1, 0, SUBJECT);
	e->flags = SCHED_SOFTIRQ_FLAG;
	noted(w, e, (struct stack_note){ .context = WAKE_NET });
	switches(w, 30, 0, 0, SUBJECT, false);
	switches(w, 40, 0, SUBJECT, 0, true);
	asked(w, q, 10, 30);
	snprintf(text, sizeof(text), "20ms waited, until data came from %s", want);
	says(w, 0, text);
	why__free(w);
}

/* The peer is known if the wait is in the call that fired. */
static void test_peer(void **state)
{
	static const char peer[] = "{\"peer\": \"10.0.0.1\", \"port\": 80}";
	static const char unknown[] =
		"the network (peer not recorded: a rule on syscall:recvfrom,read has it): the "
		"cause lies outside this machine";

	check_peer(question_of_call(peer, 20, 0),
		   "10.0.0.1:80: the cause lies outside this machine");
	check_peer(question_of_call("{\"peer\": \"fe80::1\", \"port\": 80}", 20, 0),
		   "[fe80::1]:80: the cause lies outside this machine");
	check_peer(question_of_call("{\"peer\": \"127.0.0.1\", \"port\": 80}", 20, 0),
		   "127.0.0.1:80: a task of this machine sent it, which one was not recorded");
	check_peer(question_of_call("{\"peer\": \"10.0.0.1\", \"port\": 0}", 20, 0), unknown);
	check_peer(question_of_call("{}", 20, 0), unknown);
	check_peer(question_of_call(peer, 5, 0), unknown); /* it began before the call */
	check_peer(question_of_call(peer, 0, 0), unknown);
	check_peer(question_of_call(peer, 20, 100), unknown);
}

/* Compaction of memory is told apart from reclaim, and from computing. */
static void test_compaction(void **state)
{
	struct why *w = story_computes();
	struct why_verdict v = { 0 };

	happens(w, 10, SCHED_RECLAIM, 1, SUBJECT, 0);
	happens(w, 12, SCHED_RECLAIM_END, 1, SUBJECT, 0);
	happens(w, 13, SCHED_COMPACTION, 1, SUBJECT, 0);
	happens(w, 14, SCHED_RECLAIM_END, 1, SUBJECT, 0); /* its start was lost */
	happens(w, 28, SCHED_COMPACTION_END, 1, SUBJECT, 0);
	switches(w, 40, 1, SUBJECT, HOG, true);
	asked(w, (struct why_question){ 0 }, 10, 30);
	says(w, 0, "15ms compacted memory, because no free piece was large enough");
	says(w, 1, "3ms computed");
	says(w, 2, "2ms reclaimed memory, because the machine had too little free memory");
	assert_int_equal(why_verdict__make(&v, w, as_ms), 0);
	assert_int_equal(v.cause, CAUSE_COMPACT);
	assert_string_equal(v.chain.data, "compaction");
	why_verdict__free(&v);
	why__free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_beside_an_idle_cpu),
		cmocka_unit_test(test_hidden_end),
		cmocka_unit_test(test_since_the_last_wait),
		cmocka_unit_test(test_after_a_move),
		cmocka_unit_test(test_kept_off_an_idle_cpu),
		cmocka_unit_test(test_cpu_off_line),
		cmocka_unit_test(test_on_behalf),
		cmocka_unit_test(test_worker_in_a_chain),
		cmocka_unit_test(test_stack_of_a_wait),
		cmocka_unit_test(test_wait_from_before),
		cmocka_unit_test(test_next_of_time_on_a_cpu),
		cmocka_unit_test(test_next_of_limits),
		cmocka_unit_test(test_next_of_waits),
		cmocka_unit_test(test_verbose_tree),
		cmocka_unit_test(test_interrupts_not_recorded),
		cmocka_unit_test(test_limits_in_a_manifest),
		cmocka_unit_test(test_what_a_manifest_adds),
		cmocka_unit_test(test_stolen_time),
		cmocka_unit_test(test_weight),
		cmocka_unit_test(test_what_to_record),
		cmocka_unit_test(test_ring_to_record),
		cmocka_unit_test(test_requests_not_recorded),
		cmocka_unit_test(test_request_end_lost),
		cmocka_unit_test(test_requeued_requests),
		cmocka_unit_test(test_requeued_request_of_its_own),
		cmocka_unit_test(test_interrupted_queue),
		cmocka_unit_test(test_interrupted_idle_cpu),
		cmocka_unit_test(test_handlers_of_irqs),
		cmocka_unit_test(test_compaction),
		cmocka_unit_test(test_served_on_behalf),
		cmocka_unit_test(test_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
