/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An incident pool with a hand-made active set and dumpers without threads. The test acts as the
 * trigger thread (freeze), the dumpers (written) and the collector (let go).
 */
#ifndef TESTS_UNIT_INCIDENT_POOL_FIXTURE_H
#define TESTS_UNIT_INCIDENT_POOL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/incident_pool.h"

#define SESSIONS 4
#define MERGE	 1000000000ULL
#define POST	 1000

enum { RULE_A, RULE_B, RULE_BOTH, RULE_ALL, RULE_LATE, RULE_NONE, RULES };

struct world {
	struct incident_pool pool;
	struct active_set active;
	struct ruleset rules;
	struct rule_conf confs[RULES];
	struct rule_counters counters[RULES];
	uint64_t muted_until[RULES];
	struct dumper dumpers[SESSIONS];
	struct dumper *list[SESSIONS];
	uint64_t now, fired;
};

static size_t sessions[] = { 0, 1, 2, 3 };

static const struct rule_conf confs[RULES] = {
	[RULE_A] = { .name = "a", .sessions = sessions, .n_sessions = 1, .post = POST },
	[RULE_B] = { .name = "b", .sessions = sessions + 1, .n_sessions = 1, .post = POST },
	[RULE_BOTH] = { .name = "both", .sessions = sessions, .n_sessions = 2, .post = POST },
	[RULE_ALL] = { .name = "all", .sessions = sessions, .n_sessions = SESSIONS, .post = POST },
	[RULE_LATE] = { .name = "late", .sessions = sessions, .n_sessions = 1, .post = 50 * POST },
	[RULE_NONE] = { .name = "none", .post = POST },
};

static inline int set_up_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	if (!w || incident_pool__init(&w->pool))
		return -1;
	memcpy(w->confs, confs, sizeof(confs));
	w->rules = (struct ruleset){ .rules = w->confs, .n_rules = RULES, .daemon.merge = MERGE };
	w->active = (struct active_set){ .rules = &w->rules,
					 .dumpers = w->list,
					 .n_dumpers = SESSIONS,
					 .counters = w->counters,
					 .muted_until = w->muted_until };
	atomic_init(&w->active.refs, 1); /* belongs to the test, which never frees it */
	for (size_t i = 0; i < SESSIONS; i++)
		w->list[i] = &w->dumpers[i];
	w->now = 1000000;
	*state = w;
	return 0;
}

static inline int tear_down_world(void **state)
{
	struct world *w = *state;
	int refs;

	incident_pool__free(&w->pool);
	refs = atomic_load(&w->active.refs);
	free(w);
	return refs == 1 ? 0 : -1;
}

static inline void fire_at(struct world *w, size_t rule, uint64_t time)
{
	const struct frbpf_trigger t = { .time = time, .rule_id = rule, .value = w->fired };

	w->fired++;
	incident_pool__trigger(&w->pool, &w->active, rule, &t);
	assert_int_equal(w->counters[rule].last, time);
}

static inline void fire(struct world *w, size_t rule)
{
	fire_at(w, rule, w->now);
}

static inline struct incident *dump(struct world *w, uint64_t mask)
{
	const struct frbpf_trigger t = { .time = w->now };

	return incident_pool__manual(&w->pool, &w->active, mask, "by hand", &t);
}

static inline struct incident *next_due_incident(struct world *w)
{
	uint64_t deadline;

	return incident_pool__next_due(&w->pool, w->now, &deadline);
}

static inline uint64_t next_deadline(struct world *w)
{
	uint64_t deadline = 0;

	assert_null(incident_pool__next_due(&w->pool, w->now, &deadline));
	return deadline;
}

/* Do what the trigger thread does with a due incident. */
static inline void freeze(struct world *w, struct incident *inc)
{
	assert_int_equal(inc->state, INCIDENT_FREEZING);
	assert_true(inc->n_triggers >= 1);
	for (size_t i = 0; i < SESSIONS; i++) {
		if (inc->sessions & (1 << i))
			assert_true(w->dumpers[i].busy);
	}
	inc->freeze = (struct freeze_report){ .begun = w->now, .frozen = w->now };
	incident_pool__frozen(inc, __builtin_popcountll(inc->sessions));
}

static inline struct incident *freeze_next(struct world *w)
{
	struct incident *inc = next_due_incident(w);

	assert_non_null(inc);
	freeze(w, inc);
	return inc;
}

static inline void written(struct world *w, struct incident *inc)
{
	assert_int_equal(inc->state, inc->sessions ? INCIDENT_FROZEN : INCIDENT_WRITTEN);
	for (size_t i = 0, left = __builtin_popcountll(inc->sessions); i < SESSIONS; i++) {
		if (!(inc->sessions & (1 << i)))
			continue;
		w->dumpers[i].busy = false;
		assert_int_equal(incident_pool__part_written(inc), --left == 0);
	}
	assert_int_equal(inc->state, INCIDENT_WRITTEN);
}

static inline void let_go(struct incident *inc)
{
	struct dump_remains remains[INCIDENT_SESSIONS_MAX];
	struct active_set *g;

	inc->manifest_stale = false; /* as if its manifest had been written */
	g = incident_pool__release(inc, remains);
	assert_non_null(g);
	assert_int_equal(inc->state, INCIDENT_FREE);
	active_set__unref(g);
}

static inline uint64_t counted(const struct world *w)
{
	uint64_t n = 0;

	for (size_t i = 0; i < RULES; i++)
		n += w->counters[i].incidents + w->counters[i].joined + w->counters[i].merged +
		     w->counters[i].busy;
	return n;
}

#define pool_test(f) cmocka_unit_test_setup_teardown(f, set_up_world, tear_down_world)

static inline struct incident *frozen(struct world *w, size_t rule)
{
	fire(w, rule);
	w->now += POST;
	return freeze_next(w);
}

#endif
