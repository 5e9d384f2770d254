// SPDX-License-Identifier: GPL-2.0-only
/* Answers of `frbpf why` about waits and CPU time. Needs no root. */
#include "analyse/prev_state.h"
#include "analyse/why/why_text.h"
#include "why_story.h"

/*
 * The switch to the subject is missing, as on machines that hide what an idle CPU does. The subject
 * may also have run while records were lost.
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
	assert_string_equal(b.data, "computed, woken by dd/3");
	buf__free(&b);
	why__free(w);
}

/* SUBJECT waits twice. The first wait has a sample of offcpu-time, with a stack if @has_stack. */
static struct why *waits_off_cpu(uint64_t ms, uint64_t ns, bool has_stack)
{
	struct why *w = story_begin();
	struct sched_event *e;

	w->events.off_cpu_times = true;
	switches(w, 2, 0, SUBJECT, 0, true);
	happens(w, 9, SCHED_WAKING, 1, OTHER, SUBJECT);
	switches(w, 10, 0, 0, SUBJECT, false);
	e = happens(w, ms, SCHED_OFF_CPU, 0, SUBJECT, SUBJECT);
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
	struct why *w = waits_off_cpu(10, 8 * MS, true);

	asked(w, (struct why_question){ 0 }, 2, 14);
	check_out(w, 0, true, 77);
	check_out(w, 4, false, 0);
	says(w, 0, "7ms waited, until woken by ?/3");
	says(w, 1, "3ms waited (stack not recorded), until woken by ?/3");
	why__free(w);

	w = waits_off_cpu(10, 7 * MS, true); /* the switch that began it was lost */
	asked(w, (struct why_question){ 0 }, 2, 14);
	check_out(w, 0, false, 0);
	says(w, 0, "10ms waited (stack not recorded), until woken by ?/3");
	why__free(w);

	w = waits_off_cpu(10, 8 * MS, false);
	asked(w, (struct why_question){ 0 }, 2, 14);
	check_out(w, 0, false, 0);
	why__free(w);

	w = waits_off_cpu(10, 8 * MS, true); /* a stack that was recorded with the switch stays */
	w->events.v[0].has_stack = true;
	w->events.v[0].sample = 5;
	asked(w, (struct why_question){ 0 }, 2, 14);
	check_out(w, 0, true, 5);
	why__free(w);
}

/*
 * A wait began before the recording. Its only event is the sample, or the sample comes with its
 * end.
 */
static void test_wait_from_before(void **state)
{
	for (int woken = 0; woken < 2; woken++) {
		struct why *w = story_begin();
		struct sched_event *e;

		w->events.off_cpu_times = true;
		switches(w, 1, 0, OTHER, HOG, true);
		if (woken) {
			happens(w, 9, SCHED_WAKING, 1, HOG, SUBJECT);
			switches(w, 10, 0, HOG, SUBJECT, true);
		}
		e = happens(w, 10, SCHED_OFF_CPU, 0, SUBJECT, 0);
		e->value = 100 * MS;
		e->has_stack = true;
		switches(w, 12, 1, OTHER, HOG, true);
		asked(w, (struct why_question){ 0 }, 1, 10);
		says(w, 0, woken ? "8ms waited, until woken by ?/2" : "9ms waited");
		why__free(w);
	}
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

/* The verbose tree has all points in time, and all functions with their shares. */
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
	says(w, 2,
	     "2ms reclaimed memory, because the kernel had too little free memory "
	     "of the kind that it asked for");
	assert_int_equal(why_verdict__make(&v, w, as_ms), 0);
	assert_int_equal(v.cause, CAUSE_COMPACT);
	assert_string_equal(v.chain.data, "compaction");
	why_verdict__free(&v);
	why__free(w);
}

/* A rule on pending events fires while the task still reclaims. */
static void test_reclaim_not_over(void **state)
{
	struct why *w = story_computes();

	happens(w, 15, SCHED_CGROUP_RECLAIM, 1, SUBJECT, 0);
	happens(w, 31, SCHED_SAMPLE, 1, SUBJECT, 0);
	asked(w, (struct why_question){ 0 }, 10, 30);
	says(w, 0,
	     "15ms reclaimed memory, because its cgroup was at its limit (memory.max, "
	     "memory.high)");
	says(w, 1, "5ms computed");
	why__free(w);
}

/* Records were lost while the task waited: it may have run meanwhile. */
static void test_gap_in_a_wait(void **state)
{
	struct why *w = story_begin();

	switches(w, 10, 1, SUBJECT, HOG, true);
	happens(w, 20, SCHED_GAP, 0, 0, 0)->value = 14 * MS;
	happens(w, 30, SCHED_WAKING, 1, HOG, SUBJECT);
	switches(w, 30, 1, HOG, SUBJECT, false);
	asked(w, (struct why_question){ 0 }, 10, 30);
	says(w, 0, "14ms waited, until woken by ?/2");
	says(w, 1, "6ms unknown: records were lost: a larger ring, such as -m 16M, loses less");
	why__free(w);
}

/* A task that has ended waits for nothing. The rank of a task that no event names is not known. */
static void test_ended_and_unnamed(void **state)
{
	struct why *w = story_begin();

	happens(w, 10, SCHED_SWITCH, 1, SUBJECT, HOG)->arg = PREV_STATE_ENDED;
	switches(w, 31, 1, HOG, 0, true);
	asked(w, (struct why_question){ 0 }, 10, 30);
	says(w, 0,
	     "20ms unknown: the task had ended: ask about the time before with -i FILE --tid TID "
	     "--to");
	why__free(w);

	w = story_begin();
	happens(w, 5, SCHED_SAMPLE, 1, HOG, 0);
	happens(w, 10, SCHED_WAKING, 0, OTHER, SUBJECT)->arg = 1;
	happens(w, 20, SCHED_SAMPLE, 1, HOG, 0);
	switches(w, 30, 1, HOG, SUBJECT, false);
	w->events.v[3].prio = WHY_PRIO_UNKNOWN;
	asked(w, (struct why_question){ 0 }, 10, 30);
	says(w, 0, "20ms waited for CPU 1 behind ?/2");
	why__free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hidden_end),
		cmocka_unit_test(test_since_the_last_wait),
		cmocka_unit_test(test_ended_and_unnamed),
		cmocka_unit_test(test_worker_in_a_chain),
		cmocka_unit_test(test_stack_of_a_wait),
		cmocka_unit_test(test_wait_from_before),
		cmocka_unit_test(test_verbose_tree),
		cmocka_unit_test(test_compaction),
		cmocka_unit_test(test_reclaim_not_over),
		cmocka_unit_test(test_gap_in_a_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
