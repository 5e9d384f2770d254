// SPDX-License-Identifier: GPL-2.0-only
/*
 * Triggers, freezes and ends in random order: each trigger is in a manifest or counted, and no
 * session is in two incidents at once.
 */
#include "incident_pool_fixture.h"

static uint64_t in_manifests(const struct incident *inc)
{
	return inc->n_triggers + inc->n_merged + inc->more_merged;
}

/* Incidents that let_go() has freed. */
static uint64_t gone, by_hand;

static void check_counts(const struct world *w)
{
	uint64_t seen = gone, busy = 0;

	for (size_t i = 0; i < INCIDENT_POOL_SIZE; i++) {
		if (w->pool.v[i]->state != INCIDENT_FREE)
			seen += in_manifests(w->pool.v[i]);
	}
	for (size_t i = 0; i < RULES; i++)
		busy += w->counters[i].busy;
	assert_int_equal(counted(w), w->fired);
	assert_int_equal(seen + busy, w->fired + by_hand);
}

/* No two incidents use the copy area of a session at once. */
static void check_owners(const struct world *w)
{
	uint64_t owned = 0;

	for (size_t i = 0; i < INCIDENT_POOL_SIZE; i++) {
		const struct incident *inc = w->pool.v[i];

		if (inc->state != INCIDENT_FROZEN)
			continue;
		assert_int_equal(owned & inc->sessions, 0);
		owned |= inc->sessions;
	}
}

static void step(struct world *w)
{
	struct incident *inc = w->pool.v[random() % INCIDENT_POOL_SIZE];

	switch (random() % 8) {
	case 0 ... 2:
		fire_at(w, random() % RULES, w->now - random() % 500);
		break;
	case 3:
		by_hand += dump(w, random() % 16) != NULL;
		break;
	case 4:
		w->now += random() % 4 ? (uint64_t)random() % (2 * POST) : MERGE / 2;
		break;
	case 5:
		while ((inc = next_due_incident(w)))
			freeze(w, inc);
		break;
	default:
		if (inc->state == INCIDENT_FROZEN) {
			written(w, inc);
		} else if (inc->state == INCIDENT_WRITTEN) {
			gone += in_manifests(inc);
			let_go(inc);
		}
	}
}

static void drain(struct world *w)
{
	struct incident *inc;

	incident_pool__close(&w->pool);
	while (incident_pool__under_way(&w->pool)) {
		inc = freeze_next(w);
		written(w, inc);
		check_counts(w);
	}
	for (size_t i = 0; i < INCIDENT_POOL_SIZE; i++) {
		if (w->pool.v[i]->state == INCIDENT_WRITTEN) {
			gone += in_manifests(w->pool.v[i]);
			let_go(w->pool.v[i]);
		}
	}
}

static void finish_frozen(struct world *w)
{
	for (size_t i = 0; i < INCIDENT_POOL_SIZE; i++) {
		if (w->pool.v[i]->state == INCIDENT_FROZEN)
			written(w, w->pool.v[i]);
	}
}

static void test_nothing_vanishes(void **state)
{
	struct world *w = *state;

	srandom(7);
	gone = by_hand = 0;
	for (int i = 0; i < 100000; i++) {
		step(w);
		check_counts(w);
		check_owners(w);
	}
	finish_frozen(w);
	drain(w);
	check_counts(w);
	for (size_t i = 0; i < RULES; i++) {
		assert_true(w->counters[i].incidents && w->counters[i].joined);
		assert_true(w->counters[i].merged && w->counters[i].busy);
	}
	assert_int_equal(atomic_load(&w->active.refs), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pool_test(test_nothing_vanishes),
	};

	return cmocka_run_group_tests_name("incident_pool_random", tests, NULL, NULL);
}
