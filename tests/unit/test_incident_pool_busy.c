// SPDX-License-Identifier: GPL-2.0-only
/*
 * The incident pool under pressure: dumps by hand, sessions that still write, a full or closed
 * pool, threads.
 */
#include <errno.h>
#include <jansson.h>

#include "incident_pool_fixture.h"

/* ---- by hand ---- */

static void test_manual(void **state)
{
	struct world *w = *state;
	struct incident *one = dump(w, 3), *two = dump(w, 3);

	assert_non_null(one);
	assert_non_null(two);
	assert_ptr_not_equal(one, two);
	assert_true(one->manual);
	assert_string_equal(one->reason, "by hand");
	assert_null(one->triggers[0].rule);
	assert_int_equal(one->number, 1);
	assert_int_equal(two->number, 2);
	/* late, but before their windows end: it joins neither of them */
	fire_at(w, RULE_A, w->now - 2 * POST);
	assert_int_equal(w->counters[RULE_A].incidents, 1);
	assert_int_equal(one->n_triggers + two->n_triggers, 2);
	assert_ptr_equal(freeze_next(w), one);
	w->now += POST;
	assert_null(next_due_incident(w));
	written(w, one);
	assert_ptr_equal(freeze_next(w), two);
	written(w, two);
	written(w, freeze_next(w));
	assert_int_equal(w->pool.busy, 0);
}

static void test_manual_takes_no_merges(void **state)
{
	struct world *w = *state;
	struct incident *inc = dump(w, 15);

	assert_ptr_equal(freeze_next(w), inc);
	assert_int_equal(incident_pool__merge_end(inc), w->now);
	fire(w, RULE_A);
	assert_int_equal(inc->n_merged, 0);
	assert_int_equal(w->counters[RULE_A].incidents, 1);
}

static void test_long_reason(void **state)
{
	struct world *w = *state;
	const struct frbpf_trigger t = { .time = 1 };
	char reason[1000];
	struct incident *inc;

	memset(reason, 'x', sizeof(reason) - 1);
	reason[sizeof(reason) - 1] = '\0';
	inc = incident_pool__manual(&w->pool, &w->active, 1, reason, &t);
	assert_int_equal(strlen(inc->reason), INCIDENT_REASON_MAX - 1);
	written(w, freeze_next(w));
	let_go(inc);
	fire(w, RULE_A);
	assert_string_equal(inc->reason, "");
	assert_false(inc->manual);
}

/* ---- busy sessions ---- */

static void test_waits_for_its_session(void **state)
{
	struct world *w = *state;
	struct incident *first = frozen(w, RULE_A), *other;

	dump(w, 1);
	assert_int_equal(next_deadline(w), UINT64_MAX); /* due, but must wait */
	dump(w, 2);
	other = freeze_next(w); /* it wants another session, and goes first */
	assert_int_equal(other->sessions, 2);
	assert_null(next_due_incident(w));
	written(w, first);
	assert_int_equal(freeze_next(w)->number, 2);
}

/* An incident for two sessions is not starved by incidents for one of them. */
static void test_no_overtaking(void **state)
{
	struct world *w = *state;
	struct incident *first = frozen(w, RULE_A);

	assert_int_equal(dump(w, 3)->number, 2);
	assert_int_equal(dump(w, 2)->number, 3);
	assert_int_equal(dump(w, 4)->number, 4);
	assert_int_equal(dump(w, 6)->number, 5);
	assert_int_equal(freeze_next(w)->number, 4);
	assert_null(next_due_incident(w));
	written(w, first);
	assert_int_equal(freeze_next(w)->number, 2);
	assert_null(next_due_incident(w)); /* 3 waits for 2; 5 waits for 4 and 3 */
}

/* Only due incidents delay others. */
static void test_only_due_incidents_delay_others(void **state)
{
	struct world *w = *state;

	fire(w, RULE_LATE);
	assert_int_equal(dump(w, 1)->number, 2);
	assert_int_equal(freeze_next(w)->number, 2);
	assert_int_equal(next_deadline(w), w->now + 50 * POST);
}

static void test_next_deadline_is_the_earliest(void **state)
{
	struct world *w = *state;

	fire(w, RULE_LATE);
	w->confs[RULE_A].post = 70000000000ULL;
	fire(w, RULE_A);
	assert_int_equal(w->pool.begun, 2);
	assert_int_equal(next_deadline(w), w->now + 50 * POST);
}

/* ---- full and closed ---- */

static void fill(struct world *w)
{
	for (size_t i = 0; i < INCIDENT_POOL_SIZE; i++)
		assert_non_null(dump(w, 1));
}

static void test_exhausted(void **state)
{
	struct world *w = *state;

	fill(w);
	assert_null(dump(w, 1));
	assert_int_equal(w->pool.busy, 1);
	fire(w, RULE_A);
	assert_int_equal(w->pool.busy, 2);
	assert_int_equal(w->counters[RULE_A].busy, 1);
	assert_int_equal(w->counters[RULE_A].incidents, 0);
	assert_int_equal(w->pool.begun, INCIDENT_POOL_SIZE);
	assert_int_equal(incident_pool__under_way(&w->pool), INCIDENT_POOL_SIZE);
	let_go((written(w, freeze_next(w)), w->pool.v[0]));
	fire(w, RULE_A);
	assert_int_equal(w->counters[RULE_A].incidents, 1);
	assert_int_equal(w->pool.begun, INCIDENT_POOL_SIZE + 1);
}

static void test_close(void **state)
{
	struct world *w = *state;
	struct incident *inc;
	uint64_t due;

	fire(w, RULE_LATE);
	due = w->now + 50 * POST;
	incident_pool__close(&w->pool);
	fire(w, RULE_LATE); /* joins the first, and must not delay the freeze */
	assert_null(dump(w, 2));
	assert_int_equal(w->pool.busy, 1);
	inc = freeze_next(w);
	assert_int_equal(inc->n_triggers, 2);
	assert_int_equal(inc->deadline, due); /* as the manifest shows it */
	fire(w, RULE_B);
	assert_int_equal(w->counters[RULE_B].busy, 1);
	fire(w, RULE_A);
	assert_int_equal(w->counters[RULE_A].merged, 1);
	assert_int_equal(incident_pool__under_way(&w->pool), 1);
	written(w, inc);
	assert_int_equal(incident_pool__under_way(&w->pool), 0);
	assert_int_equal(counted(w), w->fired);
}

/* ---- threads ---- */

/*
 * A trigger arrives after the incident was freed and before its active set is released: the
 * incident is free, although the merge time has not passed.
 */
static void test_trigger_during_release(void **state)
{
	struct world *w = *state;
	struct dump_remains remains[INCIDENT_SESSIONS_MAX];
	struct incident *inc = frozen(w, RULE_A);
	struct active_set *g;

	written(w, inc);
	assert_null(incident_pool__release(inc, remains)); /* its manifest is still to be written */
	assert_int_equal(inc->state, INCIDENT_WRITTEN);
	assert_ptr_equal(inc->active, &w->active);
	inc->manifest_stale = false;
	inc->results[0].cpus = (struct dump_cpu *)w;
	g = incident_pool__release(inc, remains);
	assert_ptr_equal(g, &w->active);
	assert_ptr_equal(remains[0].cpus, w);
	assert_null(inc->results[0].cpus);
	fire(w, RULE_A);
	assert_int_equal(w->counters[RULE_A].merged, 0);
	assert_int_equal(w->counters[RULE_A].incidents, 2);
	active_set__unref(g);
}

static void test_no_joining_while_it_is_frozen(void **state)
{
	struct world *w = *state;
	struct incident *inc;

	fire(w, RULE_A);
	w->now += POST;
	inc = next_due_incident(w);
	assert_non_null(inc);
	fire(w, RULE_A); /* as a request of another thread would find it */
	assert_int_equal(inc->n_triggers, 1);
	assert_int_equal(w->counters[RULE_A].incidents, 2);
	freeze(w, inc);
}

struct storm {
	struct world *w;
	pthread_mutex_t lock;
	bool stop;
};

/* The collector: like the daemon, it writes manifests without the lock. */
static void *collector(void *arg)
{
	struct storm *s = arg;
	struct dump_remains remains[INCIDENT_SESSIONS_MAX];
	struct active_set *g;

	for (size_t i = 0; !__atomic_load_n(&s->stop, __ATOMIC_ACQUIRE); i++) {
		struct incident *inc = s->w->pool.v[i % INCIDENT_POOL_SIZE];

		g = NULL;
		pthread_mutex_lock(&s->lock);
		if (inc->state == INCIDENT_FROZEN)
			written(s->w, inc);
		if (inc->state == INCIDENT_WRITTEN && inc->manifest_stale)
			inc->manifest_stale = false;
		else if (inc->state == INCIDENT_WRITTEN)
			g = incident_pool__release(inc, remains);
		pthread_mutex_unlock(&s->lock);
		active_set__unref(g);
	}
	return NULL;
}

static void test_storm(void **state)
{
	struct storm s = { .w = *state, .lock = PTHREAD_MUTEX_INITIALIZER };
	struct world *w = s.w;
	struct incident *inc;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, collector, &s), 0);
	for (int i = 0; i < 200000; i++) {
		pthread_mutex_lock(&s.lock);
		fire(w, i % RULE_LATE);
		w->now += POST;
		while ((inc = next_due_incident(w)))
			freeze(w, inc);
		pthread_mutex_unlock(&s.lock);
	}
	__atomic_store_n(&s.stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	assert_int_equal(counted(w), w->fired);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pool_test(test_manual),
		pool_test(test_manual_takes_no_merges),
		pool_test(test_long_reason),
		pool_test(test_waits_for_its_session),
		pool_test(test_no_overtaking),
		pool_test(test_only_due_incidents_delay_others),
		pool_test(test_next_deadline_is_the_earliest),
		pool_test(test_exhausted),
		pool_test(test_close),
		pool_test(test_trigger_during_release),
		pool_test(test_no_joining_while_it_is_frozen),
		pool_test(test_storm),
	};

	return cmocka_run_group_tests_name("incident_pool_busy", tests, NULL, NULL);
}
