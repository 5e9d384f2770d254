// SPDX-License-Identifier: GPL-2.0-only
/* What `frbpf why` says to look at next, or to record. Needs no root. */
#include "common/cleanup.h"
#include "analyse/why/why_text.h"
#include "why_story.h"

/* Ask from 10 to 30 ms, and free @w. What to look at next is @want, also in JSON and on a line. */
static void check_next_step(struct why *w, struct why_question q, const char *want)
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

static void test_next_of_time_on_a_cpu(void **state)
{
	struct why *w = story_computes();

	happens(w, 20, SCHED_SAMPLE, 1, SUBJECT, SUBJECT);
	switches(w, 40, 1, SUBJECT, HOG, true);
	check_next_step(w, (struct why_question){ 0 },
			"perf report -i 'a b.data' --tid 1 --time 0.010000,0.030001");

	w = story_computes();
	switches(w, 40, 1, SUBJECT, HOG, true);
	named(w, SUBJECT, "dd");
	check_next_step(w, (struct why_question){ 0 },
			"record -e cpu-clock -F 99 -g for the functions that dd/1 runs");

	w = story_computes(); /* between two samples */
	w->events.samples = true;
	switches(w, 40, 1, SUBJECT, HOG, true);
	check_next_step(
		w, (struct why_question){ 0 },
		"for the functions that ?/1 runs: a higher -F, no sample fell into this time");

	w = story_computes();
	happens(w, 10, SCHED_IRQ, 1, SUBJECT, 0)->arg = 24;
	happens(w, 29, SCHED_IRQ_END, 1, SUBJECT, 0)->arg = 24;
	switches(w, 40, 1, SUBJECT, HOG, true);
	check_next_step(w, (struct why_question){ 0 },
			"grep '^ *24:' /proc/interrupts; cat /proc/irq/24/smp_affinity_list");
}

static void test_next_of_limits(void **state)
{
	check_next_step(story_of_reclaim(SCHED_CGROUP_RECLAIM),
			(struct why_question){ .limits[WHY_LIMIT_MEMORY] = { "/user.slice/x" } },
			"memory.max, memory.high and memory.events in /sys/fs/cgroup/user.slice/x");
	check_next_step(story_of_reclaim(SCHED_CGROUP_RECLAIM),
			(struct why_question){ .limits[WHY_LIMIT_MEMORY] = { "/memory/x", true } },
			"memory.limit_in_bytes and memory.failcnt in /sys/fs/cgroup/memory/x");
	check_next_step(
		story_of_reclaim(SCHED_CGROUP_RECLAIM), (struct why_question){ 0 },
		"memory.max, memory.high and memory.events of the cgroup in /proc/1/cgroup, and "
		"of those above it");
	check_next_step(story_of_reclaim(SCHED_RECLAIM), (struct why_question){ 0 },
			"/proc/meminfo; ps -eo pid,rss,comm --sort=-rss | head");
}

static void test_next_of_waits(void **state)
{
	struct why *w = story_computes();

	switches(w, 10, 1, SUBJECT, HOG, false);
	switches(w, 30, 1, HOG, SUBJECT, false);
	named(w, HOG, "hog");
	check_next_step(
		w, (struct why_question){ 0 },
		"chrt -p 2; record -e cpu-clock -F 99 -g for the functions that hog/2 runs");

	w = story_computes(); /* the waker is unknown */
	w->events.recorded[SCHED_WAKING] = false;
	switches(w, 10, 1, SUBJECT, 0, true);
	switches(w, 30, 1, 0, SUBJECT, false);
	switches(w, 40, 1, SUBJECT, HOG, true);
	check_next_step(w, (struct why_question){ 0 },
			"record -e sched:sched_waking -g of all tasks (-a)");
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

/* A proposed ring holds more than the interval, and more than the ring of the recording. */
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

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_next_of_time_on_a_cpu), cmocka_unit_test(test_next_of_limits),
		cmocka_unit_test(test_next_of_waits),	      cmocka_unit_test(test_what_to_record),
		cmocka_unit_test(test_ring_to_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
