// SPDX-License-Identifier: GPL-2.0-only
/* What `frbpf why` takes from the manifest. Needs no root. */
#include "analyse/why/why_text.h"
#include "why_story.h"

static void test_limits_in_a_manifest(void **state)
{
	struct why_question q = question_of(
		"{\"cpu\": [{\"cgroup\": \"/a/b\", \"quota_ns\": 5, \"throttled\": 0},"
		"{\"cgroup\": \"/a\", \"quota_ns\": 5, \"throttled\": 3}],"
		"\"memory\": [{\"cgroup\": \"/m\", \"max\": 5, \"max_events\": 3}],"
		"\"io\": [{\"cgroup\": \"/i\"}, {\"cgroup\": \"/\", \"max\": [\"8:0 rbps=1\"]}]}",
		"{}");

	assert_string_equal(q.limits[WHY_LIMIT_CPU].path, "/a");
	assert_false(q.limits[WHY_LIMIT_CPU].v1);
	assert_string_equal(q.limits[WHY_LIMIT_MEMORY].path, "/memory/m");
	assert_true(q.limits[WHY_LIMIT_MEMORY].v1);
	assert_string_equal(q.limits[WHY_LIMIT_IO].path, "/");
	assert_false(q.limits[WHY_LIMIT_IO].v1);
	/* which of two quotas was used up is unknown */
	q = question_of("{\"cpu\": [{\"cgroup\": \"/a/b\", \"quota_ns\": 5, \"throttled\": 1},"
			"{\"cgroup\": \"/a\", \"quota_ns\": 5, \"throttled\": 3}]}",
			"{}");
	assert_string_equal(q.limits[WHY_LIMIT_CPU].path, "");
}

/* SUBJECT, a thread, reclaims for most of the time. The verdict says what the question knows. */
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
		"\"/s/pg\", \"max\": 5, \"max_events\": 3, \"oom_kills\": 0}]}",
		"{}");

	verdict_is(q,
		   "95 % of 20ms: worker/1 reclaimed memory, because its cgroup /s/pg was at its "
		   "limit (memory.max, memory.high)",
		   ": pg -D x, in cgroup /s/pg");
	verdict_is(
		(struct why_question){ .stolen_ns = 1, .cpu_ns = 8 },
		"95 % of 20ms: worker/1 reclaimed memory, because its cgroup was at its limit "
		"(memory.max, memory.high); in these seconds a hypervisor took 0ms, 12.5 % of the "
		"CPU time",
		"");
	/* little of the machine, but much of a short incident */
	verdict_is(
		(struct why_question){ .stolen_ns = 5 * MS, .cpu_ns = 2000 * MS },
		"95 % of 20ms: worker/1 reclaimed memory, because its cgroup was at its limit "
		"(memory.max, memory.high); in these seconds a hypervisor took 5ms, 0.25 % of the "
		"CPU time",
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

/* SUBJECT, with nice 0, waits behind a task with this nice value. */
static void check_rank(struct why_question q, int nice, const char *want)
{
	struct why *w = story_computes();
	char text[160];

	switches(w, 10, 1, SUBJECT, HOG, false);
	w->events.v[w->events.n - 1].other_prio = 120 + nice;
	switches(w, 30, 1, HOG, SUBJECT, false);
	w->events.v[w->events.n - 1].prio = 120 + nice;
	asked(w, q, 10, 30);
	snprintf(text, sizeof(text), "20ms waited for CPU 1 behind ?/2 %s", want);
	says(w, 0, text);
	why__free(w);
}

/* Between cgroups, nice values explain nothing: a low weight does. */
static void test_nice(void **state)
{
	const struct why_question none = { 0 }, low = { .weight = 20 }, normal = { .weight = 100 };

	check_rank(none, -5, "(nice -5; it has nice 0)");
	check_rank(normal, -5, "(nice -5; it has nice 0)");
	check_rank(low, -5,
		   "(nice -5; it has nice 0; a cgroup of the waiting task has cpu.weight 20)");
	check_rank(none, 5, "(lower priority: the scheduler's choice)");
	check_rank(low, 5,
		   "(lower priority: the scheduler's choice; a cgroup of the waiting task has "
		   "cpu.weight 20)");
	check_rank(low, -25, "(real-time, priority 4)");
}

static void test_weight(void **state)
{
	struct why_question q = question_of("{\"cgroup\": \"/w\", \"cpu\": [{\"cgroup\": \"/w\", "
					    "\"weight\": 20}]}",
					    "{}");

	check_rank(q, 0, "(same priority; a cgroup of the waiting task has cpu.weight 20)");
	q = question_of("{\"cgroup\": \"/s/w\", \"cpu\": [{\"cgroup\": \"/s/w\", \"weight\": 100}, "
			"{\"cgroup\": \"/s\", \"weight\": 30}]}",
			"{}");
	assert_int_equal(q.weight, 30);
	q = question_of("{\"cgroup\": \"/w\", \"cpu\": [{\"cgroup\": \"/w\", \"shares\": 20}]}",
			"{}");
	check_rank(q, 0, "(same priority; a cgroup of the waiting task has cpu.shares 20)");
	q = question_of("{\"cgroup\": \"/w\", \"cpu\": [{\"cgroup\": \"/w\", \"shares\": 1024}]}",
			"{}");
	check_rank(q, 0, "(same priority)");
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

static void check_peer_answer(struct why_question q, const char *want)
{
	struct why *w = story_begin();
	struct sched_event *e;
	char text[200];

	switches(w, 10, 0, SUBJECT, 0, true);
	e = happens(w, 30, SCHED_WAKING, 1, 0, SUBJECT);
	e->flags = SCHED_SOFTIRQ_FLAG;
	noted(w, e, (struct stack_note){ .context = WAKE_NET });
	switches(w, 30, 0, 0, SUBJECT, false);
	switches(w, 40, 0, SUBJECT, 0, true);
	asked(w, q, 10, 30);
	snprintf(text, sizeof(text), "20ms waited, until data came from %s", want);
	says(w, 0, text);
	assert_int_equal(why__unknown_ns(w), strstr(want, "127.") ? 20 * MS : 0);
	why__free(w);
}

/* The peer is known if the wait is within the call that fired the rule. */
static void test_peer(void **state)
{
	static const char peer[] = "{\"peer\": \"10.0.0.1\", \"port\": 80}";
	static const char unknown[] =
		"the network, or from a task of this machine (peer not recorded: a rule on "
		"syscall:recvfrom,read has it)";

	check_peer_answer(question_of_call(peer, 20, 0),
			  "10.0.0.1:80: the cause lies outside this machine, unless that "
			  "address belongs to it");
	check_peer_answer(question_of_call("{\"peer\": \"fe80::1\", \"port\": 80}", 20, 0),
			  "[fe80::1]:80: the cause lies outside this machine, unless that "
			  "address belongs to it");
	check_peer_answer(question_of_call("{\"peer\": \"127.0.0.1\", \"port\": 80}", 20, 0),
			  "127.0.0.1:80"); /* which task of this machine sent it is unknown */
	check_peer_answer(question_of_call("{\"peer\": \"::ffff:127.0.0.1\", \"port\": 80}", 20, 0),
			  "[::ffff:127.0.0.1]:80");
	check_peer_answer(question_of_call("{\"peer\": \"10.0.0.1\", \"port\": 0}", 20, 0),
			  unknown);
	check_peer_answer(question_of_call("{}", 20, 0), unknown);
	check_peer_answer(question_of_call(peer, 5, 0), unknown); /* the wait began before */
	check_peer_answer(question_of_call(peer, 0, 0), unknown);
	check_peer_answer(question_of_call(peer, 20, 100), unknown);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits_in_a_manifest),
		cmocka_unit_test(test_what_a_manifest_adds),
		cmocka_unit_test(test_stolen_time),
		cmocka_unit_test(test_weight),
		cmocka_unit_test(test_nice),
		cmocka_unit_test(test_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
