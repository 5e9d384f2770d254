// SPDX-License-Identifier: GPL-2.0-only
/* Answers of `frbpf why` about requests to devices. Needs no root. */
#include "analyse/prev_state.h"
#include "common/cleanup.h"
#include "why_story.h"

#define DISK 0x800000

static void request(struct why *w, uint64_t ms, enum sched_kind kind, uint32_t tid, uint64_t sector)
{
	struct sched_event *e = happens(w, ms, kind, 1, tid, 0);

	e->arg = DISK;
	e->value = sector;
	e->prio = kind == SCHED_RQ_COMPLETE ? 8 : 0;
}

/* A request ends. With it end the wait of SUBJECT and the recording. */
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

/* If the end of a request is not among the events, the request may not have been the task's. */
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

/* SUBJECT waits for a device that has a request of OTHER. */
static struct why *waits_for_device(enum sched_kind kind)
{
	struct why *w = story_begin();

	request(w, 2, SCHED_RQ_ISSUE, OTHER, 16);
	switches(w, 3, 0, OTHER, SUBJECT, true);
	request(w, 10, kind, SUBJECT, 8);
	switches(w, 10, 0, SUBJECT, 0, true);
	return w;
}

/* The device serves the other request first. */
static void check_requeued(struct why *w, const char *other)
{
	request(w, 14, SCHED_RQ_ISSUE, 0, 8);
	request(w, 25, SCHED_RQ_COMPLETE, 0, 16);
	request_wakes(w, 30, 8);
	asked(w, (struct why_question){ 0 }, 10, 30);
	says(w, 0,
	     "20ms waited, until a request to device 8:0 completed (sector 8, 4ms in the queue, "
	     "16ms in the device)");
	says_below(w, 0, other);
	says_below(w, 1, "5ms device 8:0 worked for its own requests");
	why__free(w);
}

static void test_name_of_disk(void **state)
{
	struct why_question q = question_of(
		"{}", "{\"disks\": {\"259:1\": \"nvme0n1\", \"8:0\": \"sd\\u001ba\", \"8\": \"x\", "
		      "\"8:1\": 5}}");
	struct why *w = waits_for_device(SCHED_RQ_ISSUE);

	assert_int_equal(q.n_disks, 2);
	assert_int_equal(q.disks[0].dev, 259 << 20 | 1);
	request(w, 25, SCHED_RQ_COMPLETE, 0, 16);
	request_wakes(w, 30, 8);
	asked(w, q, 10, 30);
	says(w, 0,
	     "20ms waited, until a request to device sd?a (8:0) completed (sector 8, 0ms in the "
	     "queue, "
	     "20ms in the device)");
	says_below(w, 0, "15ms device sd?a (8:0) worked for ?/3");
	why__free(w);
}

/* A request that the device refuses at first still belongs to its sender. */
static void test_requeued_requests(void **state)
{
	const char *const of_other = "15ms device 8:0 worked for ?/3";
	struct why *w = waits_for_device(SCHED_RQ_INSERT);

	check_requeued(w, of_other);

	w = waits_for_device(SCHED_RQ_INSERT); /* a kernel worker issues it again */
	request(w, 11, SCHED_RQ_REQUEUE, OTHER, 16);
	request(w, 12, SCHED_RQ_ISSUE, HOG, 16);
	check_requeued(w, of_other);

	w = waits_for_device(SCHED_RQ_INSERT); /* or inserts it first */
	request(w, 11, SCHED_RQ_REQUEUE, OTHER, 16);
	request(w, 12, SCHED_RQ_INSERT, HOG, 16);
	request(w, 12, SCHED_RQ_ISSUE, HOG, 16);
	check_requeued(w, of_other);

	w = waits_for_device(SCHED_RQ_INSERT); /* it was sent before the recording began */
	w->events.v[0].value = 24;
	request(w, 11, SCHED_RQ_REQUEUE, OTHER, 16);
	request(w, 12, SCHED_RQ_ISSUE, HOG, 16);
	check_requeued(w, "14ms device 8:0 worked for a task that was not recorded");

	/* a new request at that sector is of its own sender */
	w = waits_for_device(SCHED_RQ_INSERT);
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
	struct why *w = waits_for_device(SCHED_RQ_ISSUE);

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

/* A request that was issued later caused no delay, even if the device completes it earlier. */
static void check_issued_later(struct why *w, uint64_t to, const char *own)
{
	request_wakes(w, to, 8);
	asked(w, (struct why_question){ 0 }, 10, to);
	says_below(w, 0, own);
}

/* SUBJECT's request is with the device, and so are others for a part of that time. */
static void test_issued_later(void **state)
{
	struct why *w = waits_for_device(SCHED_RQ_ISSUE);

	request(w, 50, SCHED_RQ_ISSUE, OTHER, 24);
	request(w, 51, SCHED_RQ_COMPLETE, 0, 24);
	check_issued_later(w, 60, "50ms device 8:0 worked for its own requests");
	assert_null(why__root(w)->child->child->next);
	why__free(w);

	w = waits_for_device(SCHED_RQ_ISSUE); /* at the sector of a request that was served */
	request(w, 13, SCHED_RQ_COMPLETE, 0, 16);
	request(w, 13, SCHED_RQ_INSERT, HOG, 16);
	request(w, 13, SCHED_RQ_ISSUE, HOG, 16);
	request(w, 25, SCHED_RQ_COMPLETE, 0, 16);
	check_issued_later(w, 30, "17ms device 8:0 worked for its own requests");
	says_below(w, 1, "3ms device 8:0 worked for ?/3");
	why__free(w);

	w = waits_for_device(SCHED_RQ_ISSUE); /* refused, and issued again later */
	request(w, 11, SCHED_RQ_REQUEUE, OTHER, 16);
	request(w, 12, SCHED_RQ_ISSUE, OTHER, 16);
	request(w, 25, SCHED_RQ_COMPLETE, 0, 16);
	check_issued_later(w, 30, "20ms device 8:0 worked for its own requests");
	assert_null(why__root(w)->child->child->next);
	why__free(w);
}

/* A cgroup's limit keeps back requests until @ms. Then HOG sends them. */
static void limit_ends(struct why *w, uint64_t ms)
{
	switches(w, 11, 1, HOG, 0, true);
	noted(w, happens(w, ms, SCHED_WAKING, 1, 0, HOG), (struct stack_note){ .limits_io = true });
	switches(w, ms, 1, 0, HOG, false);
}

/* The limit of another cgroup does not delay SUBJECT. */
static void test_limit_of_another(void **state)
{
	struct why *w = waits_for_device(SCHED_RQ_ISSUE);

	limit_ends(w, 40);
	request(w, 40, SCHED_RQ_ISSUE, HOG, 24);
	request(w, 41, SCHED_RQ_COMPLETE, 0, 24);
	check_issued_later(w, 50, "40ms device 8:0 worked for its own requests");
	assert_null(why__root(w)->child->child->next);
	why__free(w);

	w = waits_for_device(SCHED_RQ_INSERT); /* SUBJECT's request is already queued */
	limit_ends(w, 40);
	request(w, 40, SCHED_RQ_ISSUE, HOG, 24);
	request(w, 42, SCHED_RQ_ISSUE, 0, 8);
	request(w, 45, SCHED_RQ_COMPLETE, 0, 24);
	request_wakes(w, 50, 8);
	asked(w, (struct why_question){ 0 }, 12, 50);
	says_below(w, 0,
		   "28ms unknown: what delayed its request before the device was not recorded: see "
		   "io.max and blkio of its cgroups, and what queues before the device");
	assert_int_equal(why__unknown_ns(w), 28 * MS);
	why__free(w);
}

/* A limit kept SUBJECT's own request, and meanwhile the device served another. */
static void test_own_limit(void **state)
{
	struct why *w = story_begin();

	switches(w, 3, 1, OTHER, HOG, true);
	switches(w, 10, 0, SUBJECT, 0, true);
	request(w, 30, SCHED_RQ_ISSUE, OTHER, 24);
	request(w, 31, SCHED_RQ_COMPLETE, 0, 24);
	limit_ends(w, 40);
	request(w, 40, SCHED_RQ_INSERT, HOG, 8);
	request(w, 41, SCHED_RQ_ISSUE, HOG, 8);
	request_wakes(w, 50, 8);
	asked(w, (struct why_question){ 0 }, 10, 50);
	says_below(w, 0,
		   "29ms its request waited before device 8:0: the limit of a cgroup (io.max, "
		   "blkio) delayed it");
	says_below(w, 1, "10ms device 8:0 worked for ?/2");
	says_below(w, 2, "1ms device 8:0 worked for ?/3");
	why__free(w);
}

/* If it is unknown when SUBJECT's request was issued, the others may have come later. */
static void test_own_issue_not_seen(void **state)
{
	struct why *w = waits_for_device(SCHED_RQ_INSERT);

	request(w, 25, SCHED_RQ_COMPLETE, 0, 16);
	request_wakes(w, 30, 8);
	asked(w, (struct why_question){ 0 }, 10, 30);
	says(w, 0, "20ms waited, until a request to device 8:0 completed (sector 8)");
	says_below(w, 0,
		   "20ms unknown: the sender of the request that it waited for was not recorded: a "
		   "larger ring would hold it, such as ring = 20s in the session");
	why__free(w);
}

/* How long, in ms, the answer is unknown if each round looks at no more than @most events. */
static uint64_t limited(struct why *w, uint32_t most, uint64_t to)
{
	uint64_t ns = 0;

	w->looks_max = most;
	asked(w, (struct why_question){ 0 }, 10, to);
	for (const struct why_node *wait = why__root(w)->child; wait; wait = wait->next)
		for (const struct why_node *n = wait->child; n; n = n->next)
			ns += n->key.missing == MISSING_LIMIT ? n->ns : 0;
	assert_int_equal(why__unknown_ns(w), ns);
	why__free(w);
	return ns / MS;
}

/* A look that ended too early does not show that something was not recorded. */
static void test_too_many_events(void **state)
{
	const uint32_t enough = 1 + 5 + 6; /* for the request's end, its issue and its past */

	for (uint32_t most = 0; most <= enough; most++) {
		struct why *w = waits_for_device(SCHED_RQ_ISSUE);

		request(w, 25, SCHED_RQ_COMPLETE, 0, 16);
		request_wakes(w, 30, 8);
		assert_int_equal(limited(w, most, 30), most == enough	    ? 0
						       : most == enough - 1 ? 5
									    : 20);
	}
}

/* Only the first round looks for a request before the wake-up at 12 ms. */
static void check_stack_answer(uint32_t most, const char *want)
{
	struct why *w = story_begin();

	switches(w, 10, 0, SUBJECT, 0, true);
	for (int i = 0; i < 20; i++)
		happens(w, 12, SCHED_SAMPLE, 2, OTHER, 0);
	happens(w, 12, SCHED_WAKING, 1, OTHER, SUBJECT);
	switches(w, 12, 0, 0, SUBJECT, false);
	switches(w, 13, 0, SUBJECT, 0, true);
	limit_ends(w, 40);
	request(w, 40, SCHED_RQ_ISSUE, HOG, 8);
	request_wakes(w, 50, 8);
	w->looks_max = most;
	asked(w, (struct why_question){ 0 }, 10, 50);
	says_below(w, 0, want);
	says_below(w, 1, "10ms device 8:0 worked for ?/2");
	why__free(w);
}

/*
 * Each round may look at the same number of events. If the first ends early, not all stacks were
 * read.
 */
static void test_too_many_events_for_stacks(void **state)
{
	check_stack_answer(100, "27ms its request waited before device 8:0: the limit of a cgroup "
				"(io.max, blkio) delayed it");
	check_stack_answer(
		70, "27ms unknown: too many events for one question: ask about a shorter time "
		    "with -i FILE --tid TID --from --to");
}

/* After too many events it is unknown who stopped SUBJECT. It is not the task that continued it. */
static void test_too_many_events_for_signal(void **state)
{
	struct why *w = story_begin();

	switches(w, 9, 0, 0, SUBJECT, false);
	happens(w, 10, SCHED_SWITCH, 0, SUBJECT, 0)->arg = PREV_STATE_STOPPED;
	happens(w, 30, SCHED_WAKING, 1, OTHER, SUBJECT);
	switches(w, 30, 0, 0, SUBJECT, false);
	assert_int_equal(limited(w, 0, 30), 20);
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

/* If a device works for a kernel thread, the answer names the task that woke the thread. */
static void test_served_on_behalf(void **state)
{
	const char *const of_others = "unknown<others-requests";

	check_served_for("kworker/1:0", OTHER, 0,
			 "15ms device 8:0 worked for kworker/1:0/2, which dd/3 woke", of_others);
	check_served_for("jbd2/vda-8", OTHER, 0,
			 "15ms device 8:0 worked for jbd2/vda-8/2, which dd/3 woke", of_others);
	check_served_for("jbd2/vda-8", SUBJECT, 0,
			 "15ms device 8:0 worked for jbd2/vda-8/2, which dd/1 woke",
			 "unknown<device");
	check_served_for("kworker/1:0", OTHER, SCHED_HARDIRQ,
			 "15ms device 8:0 worked for kworker/1:0/2", of_others);
	check_served_for("cat", OTHER, 0, "15ms device 8:0 worked for cat/2", of_others);
}

/*
 * A flush ends, and with it whatever needed it: one fsync, several, or a write with a flush. That
 * write ends at the sector after its data.
 */
static void test_flush(void **state)
{
	static const struct {
		uint64_t sector, end;
		int ends;
	} rows[] = { { 0, 0, 1 }, { 0, 0, 3 }, { 8, 16, 1 } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct why *w = story_begin();

		request(w, 10, SCHED_RQ_ISSUE, SUBJECT, rows[i].sector);
		switches(w, 10, 0, SUBJECT, 0, true);
		request(w, 30, SCHED_RQ_COMPLETE, 0, rows[i].sector);
		for (int k = 1; k < rows[i].ends; k++) {
			request(w, 30, SCHED_RQ_COMPLETE, 0, rows[i].end);
			w->events.v[w->events.n - 1].prio = 0;
		}
		request_wakes(w, 30, rows[i].end);
		w->events.v[2 + rows[i].ends].prio = 0;
		asked(w, (struct why_question){ 0 }, 10, 30);
		says_below(w, 0, "20ms device 8:0 worked for its own requests");
		assert_int_equal(w->root->child->device_ns, 20 * MS);
		why__free(w);
	}
}

/* A request at this sector was inserted before, and merged. HOG sent SUBJECT's own request. */
static void test_merged_request(void **state)
{
	struct why *w = story_begin();

	switches(w, 2, 1, 0, HOG, false);
	switches(w, 10, 0, SUBJECT, 0, true);
	request(w, 12, SCHED_RQ_INSERT, HOG, 8);
	request(w, 22, SCHED_RQ_INSERT, HOG, 8);
	request(w, 22, SCHED_RQ_ISSUE, HOG, 8);
	switches(w, 22, 1, HOG, 0, true);
	request_wakes(w, 30, 8);
	asked(w, (struct why_question){ 0 }, 10, 30);
	says_below(w, 0, "12ms computed");
	says_below(w, 1, "8ms device 8:0 worked for ?/2");
	why__free(w);
}

/* No issue was recorded for the second of two waits. It does not get the times of the first. */
static void test_times_of_the_last(void **state)
{
	struct why *w = story_begin();

	request(w, 10, SCHED_RQ_ISSUE, SUBJECT, 8);
	switches(w, 10, 0, SUBJECT, 0, true);
	request_wakes(w, 30, 8); /* SUBJECT leaves its CPU at 40 ms */
	request_wakes(w, 60, 24);
	asked(w, (struct why_question){ 0 }, 10, 60);
	assert_int_equal(w->root->child->times, 2);
	assert_int_equal(w->root->child->sector, 24);
	assert_int_equal(w->root->child->device_ns, 0);
	why__free(w);
}

/* All flushes have sector 0. If two are in flight, events do not tell which one ended. */
static void test_two_flushes(void **state)
{
	for (int i = 0; i < 3; i++) {
		struct why *w = story_begin();

		if (i)
			request(w, 5, SCHED_RQ_ISSUE, OTHER, 0);
		request(w, 10, SCHED_RQ_ISSUE, SUBJECT, 0);
		switches(w, 10, 0, SUBJECT, 0, true);
		if (i == 2)
			request(w, 20, SCHED_RQ_COMPLETE, 0, 0);
		request_wakes(w, 30, 0);
		asked(w, (struct why_question){ 0 }, 10, 30);
		if (i)
			says_below(
				w, 0,
				"20ms unknown: events do not tell one flush from another of that "
				"time: see f/s and f_await of iostat -x");
		else
			says_below(w, 0, "20ms device 8:0 worked for its own requests");
		why__free(w);
	}
}

/* Of two data requests at one sector the last one issued counts. */
static void test_two_at_a_sector(void **state)
{
	struct why *w = story_begin();

	request(w, 5, SCHED_RQ_ISSUE, OTHER, 8);
	request(w, 10, SCHED_RQ_ISSUE, SUBJECT, 8);
	switches(w, 10, 0, SUBJECT, 0, true);
	request_wakes(w, 30, 8);
	asked(w, (struct why_question){ 0 }, 10, 30);
	says_below(w, 0, "20ms device 8:0 worked for its own requests");
	why__free(w);
}

/* Requests to two devices ended the waits. */
static void test_several_devices(void **state)
{
	struct why *w = story_begin();

	for (int i = 0; i < 2; i++) {
		switches(w, 10 + 20 * i, 0, SUBJECT, 0, true);
		request(w, 10 + 20 * i, SCHED_RQ_ISSUE, SUBJECT, 8);
		request_wakes(w, 20 + 20 * i, 8);
		for (size_t k = w->events.n - 5; i && k < w->events.n; k++)
			if (w->events.v[k].arg == DISK)
				w->events.v[k].arg = DISK + 1;
	}
	asked(w, (struct why_question){ 0 }, 10, 40);
	says(w, 0, "20ms waited, until requests to several devices completed");
	why__free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests_not_recorded),
		cmocka_unit_test(test_request_end_lost),
		cmocka_unit_test(test_name_of_disk),
		cmocka_unit_test(test_requeued_requests),
		cmocka_unit_test(test_requeued_request_of_its_own),
		cmocka_unit_test(test_issued_later),
		cmocka_unit_test(test_limit_of_another),
		cmocka_unit_test(test_own_limit),
		cmocka_unit_test(test_own_issue_not_seen),
		cmocka_unit_test(test_too_many_events),
		cmocka_unit_test(test_too_many_events_for_stacks),
		cmocka_unit_test(test_too_many_events_for_signal),
		cmocka_unit_test(test_served_on_behalf),
		cmocka_unit_test(test_two_flushes),
		cmocka_unit_test(test_two_at_a_sector),
		cmocka_unit_test(test_several_devices),
		cmocka_unit_test(test_flush),
		cmocka_unit_test(test_merged_request),
		cmocka_unit_test(test_times_of_the_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
