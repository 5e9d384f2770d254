// SPDX-License-Identifier: GPL-2.0-only
/*
 * How triggers become incidents: which join, which are merged, which wait, which are only counted.
 */
#include <errno.h>
#include <jansson.h>

#include "incident_pool_fixture.h"

static void test_one(void **state)
{
	struct world *w = *state;
	struct incident *inc;

	assert_int_equal(next_deadline(w), UINT64_MAX);
	fire(w, RULE_BOTH);
	assert_int_equal(w->counters[RULE_BOTH].incidents, 1);
	assert_int_equal(w->pool.begun, 1);
	assert_int_equal(incident_pool__under_way(&w->pool), 1);
	assert_int_equal(next_deadline(w), w->now + POST);
	w->now += POST - 1;
	assert_int_equal(next_deadline(w), w->now + 1);
	w->now++;
	inc = freeze_next(w);
	assert_int_equal(inc->number, 1);
	assert_int_equal(inc->sessions, 3);
	assert_int_equal(inc->n_triggers, 1);
	assert_ptr_equal(inc->triggers[0].rule, &w->confs[RULE_BOTH]);
	assert_false(inc->manual);
	assert_string_equal(inc->reason, "");
	assert_false(w->dumpers[2].busy);
	assert_int_equal(next_deadline(w), UINT64_MAX);
	assert_int_equal(incident_pool__under_way(&w->pool), 1);
	written(w, inc);
	assert_int_equal(incident_pool__under_way(&w->pool), 0);
	let_go(inc);
	assert_int_equal(atomic_load(&w->active.refs), 1);
}

/* ---- states of subjects ---- */

static void fire_of(struct world *w, pid_t tid)
{
	const struct frbpf_trigger t = { .time = w->now, .rule_id = RULE_A, .subject.tid = tid };

	incident_pool__trigger(&w->pool, &w->active, RULE_A, &t);
}

static void test_states(void **state)
{
	struct world *w = *state;
	struct state_ask first, ask;
	struct incident *inc;

	assert_false(incident_pool__next_state(&w->pool, &ask));
	fire_of(w, 0); /* interrupts have no subject */
	assert_false(incident_pool__next_state(&w->pool, &ask));
	for (pid_t tid = 11; tid < 20; tid++)
		fire_of(w, tid);
	assert_int_equal(w->pool.states_wanted, INCIDENT_STATES_MAX);
	for (size_t i = 1; i < INCIDENT_STATES_MAX; i++) {
		assert_true(incident_pool__next_state(&w->pool, &ask));
		assert_int_equal(ask.incident, 1);
		assert_int_equal(ask.trigger, i);
		assert_int_equal(ask.tid, 10 + i);
		if (i == 1)
			first = ask;
	}
	assert_false(incident_pool__next_state(&w->pool, &ask));
	assert_false(incident_pool__take_state(&w->pool, &first, json_string("a"), NULL));
	w->now += POST;
	inc = freeze_next(w);
	assert_string_equal(json_string_value(inc->states[1]), "a");
	written(w, inc);
	/* after the manifest: it must be written again, and the earlier state stays */
	assert_true(incident_pool__take_state(&w->pool, &first, NULL, json_string("c")));
	assert_true(incident_pool__take_state(&w->pool, &first, json_string("b"), NULL));
	assert_string_equal(json_string_value(inc->states[1]), "a");
	assert_string_equal(json_string_value(inc->more_states[1]), "c");
	let_go(inc);
	assert_false(incident_pool__take_state(&w->pool, &first, json_string("late"), NULL));
	/* the next incident begins without a state */
	w->now += MERGE;
	fire_of(w, 30);
	assert_false(incident_pool__take_state(&w->pool, &first, json_string("late"), NULL));
	assert_null(inc->states[1]);
	assert_true(incident_pool__next_state(&w->pool, &ask));
	assert_int_equal(ask.incident, 2);
}

/* ---- joining ---- */

static void test_join(void **state)
{
	struct world *w = *state;
	struct incident *inc;

	fire(w, RULE_A);
	w->now += 10;
	fire(w, RULE_B);
	assert_int_equal(next_deadline(w), w->now + POST); /* later, by the post of the second
							    * trigger */
	fire(w, RULE_LATE);
	assert_int_equal(next_deadline(w), w->now + 50 * POST);
	w->now += 10;
	fire(w, RULE_A); /* is not frozen earlier */
	assert_int_equal(next_deadline(w), w->now - 10 + 50 * POST);
	assert_int_equal(w->pool.begun, 1);
	assert_int_equal(w->counters[RULE_A].incidents, 1);
	assert_int_equal(w->counters[RULE_A].joined, 1);
	assert_int_equal(w->counters[RULE_B].joined, 1);
	assert_int_equal(w->counters[RULE_LATE].joined, 1);
	w->now += 50 * POST;
	inc = freeze_next(w);
	assert_int_equal(inc->sessions, 3);
	assert_int_equal(inc->n_triggers, 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(inc->triggers[i].t.value, i);
	assert_ptr_equal(inc->triggers[1].rule, &w->confs[RULE_B]);
	assert_int_equal(counted(w), w->fired);
}

static void test_join_limit(void **state)
{
	struct world *w = *state;
	uint64_t begun = w->now;

	fire(w, RULE_A);
	fire_at(w, RULE_A, begun + 10000000);
	assert_int_equal(w->counters[RULE_A].joined, 1);
	/* a later trigger must not delay the freeze until the first one has left the rings */
	fire_at(w, RULE_A, begun + 10000001);
	assert_int_equal(w->counters[RULE_A].joined, 1);
	assert_int_equal(w->counters[RULE_A].incidents, 2);
}

/* A trigger that is to be frozen at once does not wait for another's long `post`. */
static void test_join_not_a_longer_wait(void **state)
{
	struct world *w = *state;

	w->confs[RULE_LATE].post = 5000000000ULL;
	fire(w, RULE_LATE);
	fire(w, RULE_A);
	assert_int_equal(w->counters[RULE_A].joined, 0);
	assert_int_equal(w->counters[RULE_A].incidents, 1);
}

/* An incident that waits for a session takes later triggers, unless they want their own `post`. */
static void test_join_overdue(void **state)
{
	struct world *w = *state;
	uint64_t begun = w->now;

	w->dumpers[0].busy = true;
	fire(w, RULE_A);
	w->now += POST + 1;
	assert_null(next_due_incident(w));
	fire_at(w, RULE_A, begun + 3000000000ULL);
	assert_int_equal(w->counters[RULE_A].joined, 1);
	w->confs[RULE_LATE].post = 2000000000ULL;
	fire_at(w, RULE_LATE, begun + 4000000000ULL);
	assert_int_equal(w->counters[RULE_LATE].joined, 0);
	assert_int_equal(w->counters[RULE_LATE].incidents, 1);
}

static void test_join_until_full(void **state)
{
	struct world *w = *state;
	struct incident *inc;

	for (size_t i = 0; i < INCIDENT_TRIGGERS_MAX + 5; i++)
		fire(w, RULE_A);
	assert_int_equal(w->counters[RULE_A].incidents, 1);
	assert_int_equal(w->counters[RULE_A].joined, INCIDENT_TRIGGERS_MAX - 1);
	assert_int_equal(w->counters[RULE_A].merged, 5);
	w->now += POST;
	inc = freeze_next(w);
	assert_int_equal(inc->n_triggers, INCIDENT_TRIGGERS_MAX);
	assert_int_equal(inc->n_merged, 5);
	assert_null(next_due_incident(w));
}

static void test_join_own_active_set_only(void **state)
{
	struct world *w = *state;
	struct active_set reloaded = w->active;
	const struct frbpf_trigger t = { .time = w->now };
	uint64_t deadline;

	fire(w, RULE_A);
	incident_pool__trigger(&w->pool, &reloaded, RULE_A, &t);
	assert_int_equal(w->pool.begun, 2);
	w->now += POST;
	written(w, freeze_next(w));
	written(w, freeze_next(w));
	assert_null(incident_pool__next_due(&w->pool, w->now, &deadline));
	incident_pool__trigger(&w->pool, &reloaded, RULE_A, &t);
	assert_int_equal(w->counters[RULE_A].merged, 1);
	for (size_t i = 0; i < INCIDENT_POOL_SIZE; i++) {
		if (w->pool.v[i]->state == INCIDENT_WRITTEN)
			let_go(w->pool.v[i]);
	}
	assert_int_equal(atomic_load(&reloaded.refs), 1);
}

/* ---- merging ---- */

static void test_merge(void **state)
{
	struct world *w = *state;
	struct incident *inc = frozen(w, RULE_BOTH);

	assert_int_equal(incident_pool__merge_end(inc), w->now + MERGE);
	inc->manifest_stale = false;
	fire(w, RULE_A);
	assert_true(inc->manifest_stale);
	written(w, inc);
	fire(w, RULE_B);
	fire_at(w, RULE_BOTH, w->now + MERGE - 1);
	fire(w, RULE_NONE);
	assert_int_equal(inc->n_merged, 4);
	assert_int_equal(inc->merged[1].t.value, 2);
	assert_ptr_equal(inc->merged[1].rule, &w->confs[RULE_B]);
	assert_int_equal(inc->n_triggers, 1);
	assert_int_equal(w->counters[RULE_A].merged, 1);
	assert_int_equal(w->counters[RULE_B].merged, 1);
	assert_int_equal(w->counters[RULE_BOTH].merged, 1);
	assert_int_equal(w->pool.begun, 1);
	assert_int_equal(counted(w), w->fired);
}

/* A trigger that broke through its cooldown gets a dump of its own. */
static void test_escalated_is_not_merged(void **state)
{
	struct world *w = *state;
	struct incident *inc = frozen(w, RULE_A);
	const struct frbpf_trigger t = { .time = w->now, .flags = FRBPF_TRIGGER_ESCALATED };

	incident_pool__trigger(&w->pool, &w->active, RULE_A, &t);
	assert_int_equal(inc->n_merged, 0);
	assert_int_equal(w->pool.begun, 2);
	/* it may join an incident that is not frozen yet, whose dump will show it */
	incident_pool__trigger(&w->pool, &w->active, RULE_BOTH, &t);
	assert_int_equal(w->pool.begun, 2);
	assert_int_equal(w->counters[RULE_BOTH].joined, 1);
}

static void test_merge_ends(void **state)
{
	struct world *w = *state;
	struct incident *inc = frozen(w, RULE_A);

	fire_at(w, RULE_A, w->now + MERGE);
	assert_int_equal(inc->n_merged, 0);
	assert_int_equal(w->counters[RULE_A].incidents, 2);
	written(w, inc);
	w->now += MERGE + POST;
	inc = freeze_next(w);
	written(w, inc);
	let_go(inc);
	w->rules.daemon.merge = 0;
	fire(w, RULE_A);
	assert_int_equal(w->counters[RULE_A].incidents, 3);
}

/*
 * A rule that a reload keeps is merged into its earlier incident, under its index there; a changed
 * rule is not.
 */
static void test_merge_over_a_reload(void **state)
{
	struct world *w = *state;
	struct rule_conf now[] = { w->confs[RULE_B], w->confs[RULE_A] };
	struct ruleset rules = { .rules = now, .n_rules = 2, .daemon.merge = MERGE };
	struct rule_counters counters[2] = { 0 };
	uint64_t muted_until[2] = { 0 };
	struct active_set next = { .rules = &rules,
				   .dumpers = w->list,
				   .n_dumpers = SESSIONS,
				   .counters = counters,
				   .muted_until = muted_until };
	struct frbpf_trigger t;
	struct incident *inc;

	atomic_init(&next.refs, 1);
	for (size_t i = 0; i < RULES; i++)
		w->confs[i].id = 100 + i;
	now[0].id = 999;
	now[1].id = w->confs[RULE_A].id;
	fire(w, RULE_BOTH);
	w->now += POST;
	inc = freeze_next(w);
	t = (struct frbpf_trigger){ .time = w->now + 1 };
	incident_pool__trigger(&w->pool, &next, 1, &t);
	assert_int_equal(counters[1].merged, 1);
	assert_int_equal(inc->n_merged, 1);
	assert_ptr_equal(inc->merged[0].rule, &w->confs[RULE_A]);
	incident_pool__trigger(&w->pool, &next, 0, &t);
	assert_int_equal(counters[0].incidents, 1);
	assert_int_equal(inc->n_merged, 1);
	written(w, inc);
	let_go(inc);
	w->now += 2 * POST;
	inc = freeze_next(w);
	assert_ptr_equal(inc->active, &next);
	written(w, inc);
	let_go(inc);
	assert_int_equal(atomic_load(&next.refs), 1);
}

/* A session without a file in the earlier incident must get one. */
static void test_merge_wants_every_session(void **state)
{
	struct world *w = *state;
	struct incident *inc = frozen(w, RULE_A);

	fire(w, RULE_B);
	assert_int_equal(w->counters[RULE_B].incidents, 1);
	assert_int_equal(inc->n_merged, 0);
	w->now += POST;
	freeze_next(w);
	fire(w, RULE_BOTH);
	assert_int_equal(w->counters[RULE_BOTH].incidents, 1);
	assert_int_equal(counted(w), w->fired);
}

/*
 * If a coming freeze covers the trigger, the dump gets a marker for it. That is better than a line
 * in a manifest.
 */
static void test_join_before_merge(void **state)
{
	struct world *w = *state;
	struct incident *inc = frozen(w, RULE_A);

	fire(w, RULE_B);
	fire(w, RULE_A);
	assert_int_equal(w->counters[RULE_A].joined, 1);
	assert_int_equal(inc->n_merged, 0);
}

static void test_merged_max(void **state)
{
	struct world *w = *state;
	struct incident *inc = frozen(w, RULE_A);

	for (size_t i = 0; i < INCIDENT_MERGED_MAX + 10; i++) {
		inc->manifest_stale = false;
		fire(w, RULE_A);
		assert_true(inc->manifest_stale);
	}
	assert_int_equal(inc->n_merged, INCIDENT_MERGED_MAX);
	assert_int_equal(inc->more_merged, 10);
	assert_int_equal(w->counters[RULE_A].merged, INCIDENT_MERGED_MAX + 10);
	assert_int_equal(counted(w), w->fired);
	written(w, inc);
	let_go(inc);
	w->now += MERGE;
	assert_ptr_equal(frozen(w, RULE_A), inc); /* reused, like new */
	assert_int_equal(inc->n_merged, 0);
	assert_int_equal(inc->more_merged, 0);
	assert_int_equal(inc->n_triggers, 1);
	assert_int_equal(inc->number, 2);
}

/* ---- stacks ---- */

static void stacks_find_their_trigger(void **state)
{
	struct world *w = *state;
	struct frbpf_stacks s = { .tag = FRBPF_TAG_STACKS, .time = w->now, .n_user = 1 };
	const struct frbpf_trigger *t;
	struct incident *inc;

	fire(w, RULE_A);
	incident_pool__stacks(&w->pool, &s);
	s.time++; /* of no trigger */
	incident_pool__stacks(&w->pool, &s);
	s.time--;
	s.cpu = 1;
	incident_pool__stacks(&w->pool, &s);
	w->now += POST;
	inc = freeze_next(w);
	t = &inc->triggers[0].t;
	assert_int_equal(inc->n_stacks, 1);
	assert_ptr_equal(incident__stacks(inc, t), &inc->stacks[0]);
	s.cpu = 0; /* too late: the incident is frozen */
	incident_pool__stacks(&w->pool, &s);
	assert_int_equal(inc->n_stacks, 1);
	written(w, inc);
}

static void no_more_stacks_than_there_is_room_for(void **state)
{
	struct world *w = *state;
	struct incident *inc;

	for (int i = 0; i < INCIDENT_STACKS_MAX + 2; i++) {
		struct frbpf_stacks s = { .tag = FRBPF_TAG_STACKS, .time = w->now };

		fire(w, i & 1 ? RULE_A : RULE_B);
		incident_pool__stacks(&w->pool, &s);
		w->now++;
	}
	w->now += POST;
	inc = freeze_next(w);
	assert_int_equal(inc->n_stacks, INCIDENT_STACKS_MAX);
	written(w, inc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pool_test(test_states),
		pool_test(test_one),
		pool_test(test_join),
		pool_test(test_join_limit),
		pool_test(test_join_not_a_longer_wait),
		pool_test(test_join_overdue),
		pool_test(test_join_until_full),
		pool_test(test_join_own_active_set_only),
		pool_test(test_merge),
		pool_test(stacks_find_their_trigger),
		pool_test(no_more_stacks_than_there_is_room_for),
		pool_test(test_escalated_is_not_merged),
		pool_test(test_merge_ends),
		pool_test(test_merge_over_a_reload),
		pool_test(test_merge_wants_every_session),
		pool_test(test_join_before_merge),
		pool_test(test_merged_max),
	};

	return cmocka_run_group_tests_name("incident_pool", tests, NULL, NULL);
}
