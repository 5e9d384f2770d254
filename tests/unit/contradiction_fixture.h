/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the tests of contradiction.h: an incident with one session, compared with its records.
 */
#ifndef FRBPF_TESTS_CONTRADICTION_FIXTURE_H
#define FRBPF_TESTS_CONTRADICTION_FIXTURE_H

#include <stdlib.h>

#include "dump/window/contradiction.h"
#include "dump/window/task_moves.h"

#define SCENE_EVENTS_MAX 9

struct scene {
	struct event v[SCENE_EVENTS_MAX];
	struct event_list events;
	struct session session;
	uint64_t ids[SCENE_EVENTS_MAX];
	struct rule_conf rule;
	struct incident *inc;
	struct dump_result *res; /* of the session */
	struct dump_cpu cpu;
	struct buf records;
};

/* A window that ends at @end, with one trigger. The caller sets the trigger, v[] and ids[]. */
static inline struct scene *new_scene(size_t n_events, uint64_t end)
{
	struct scene *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	assert_true(n_events <= SCENE_EVENTS_MAX);
	s->events = (struct event_list){ s->v, n_events, 0 };
	s->session = (struct session){
		.events = &s->events, .n_cpus = 1, .n_id_cpus = 1, .n_targets = 1, .ids = s->ids
	};
	s->inc = calloc(1, sizeof(*s->inc));
	assert_non_null(s->inc);
	s->res = &s->inc->results[0];
	*s->res = (struct dump_result){
		.session = &s->session, .end = end, .cpus = &s->cpu, .n_cpus = 1
	};
	s->inc->n_triggers = 1;
	return s;
}

static inline int free_scene(void **state)
{
	struct scene *s = *state;

	buf__free(&s->records);
	task_moves__free(s->res->moves);
	free(s->inc);
	free(s);
	return 0;
}

/*
 * Compare the first trigger with the records, as the session's thread does.
 * Returns the time of the contradiction, or 0; the result stays in the incident.
 */
static inline uint64_t compare_trigger(struct scene *s)
{
	struct timeline t = { 0 };
	struct page_set pages;

	assert_int_equal(page_set__init(&pages, &s->session), 0);
	assert_int_equal(timeline__add_buffer(&t, s->records.data, s->records.len), 0);
	assert_int_equal(timeline__sort(&t), 0);
	task_moves__free(s->res->moves);
	s->res->moves = NULL;
	s->inc->triggers[0].contradicted = 0;
	s->inc->triggers[0].compared = COMPARED_NOT_RECORDED;
	assert_int_equal(contradiction__look(s->inc, &s->session, &pages, &t, s->res), 0);
	timeline__free(&t);
	page_set__free(&pages);
	return s->inc->triggers[0].contradicted;
}

#endif
