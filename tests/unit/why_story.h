/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by tests of `frbpf why`: made-up events, for cases that a test cannot provoke on a
 * machine, and what the answers about them say.
 */
#ifndef TESTS_UNIT_WHY_STORY_H
#define TESTS_UNIT_WHY_STORY_H

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

#define MS	1000000ULL
#define SUBJECT 1
#define HOG	2
#define OTHER	3

/* Begin a story. Its events are added in the order of time; recording begins at 1 ms. */
static inline struct why *story_begin(void)
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

static inline struct sched_event *happens(struct why *w, uint64_t ms, enum sched_kind kind,
					  uint32_t cpu, uint32_t tid, uint32_t other)
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
static inline void switches(struct why *w, uint64_t ms, uint32_t cpu, uint32_t tid, uint32_t next,
			    bool blocks)
{
	happens(w, ms, SCHED_SWITCH, cpu, tid, next)->arg = blocks;
}

static inline void moves(struct why *w, uint64_t ms, uint32_t tid, uint32_t to)
{
	happens(w, ms, SCHED_MIGRATE, 0, HOG, tid)->arg = to;
}

/*
 * The question of a manifest whose trigger, at 7 ns, has the state @state. @vitals: of the machine.
 */
static inline struct why_question question_of(const char *state, const char *vitals)
{
	struct why_question q = { .to = 7 };
	json_t *m = json_pack("{s:[{s:{s:I}, s:o}], s:o}", "triggers", "time", "monotonic_ns",
			      (json_int_t)7, "state", json_loads(state, 0, NULL), "vitals",
			      json_loads(vitals, 0, NULL));

	assert_non_null(m);
	why_incident__fill_question(m, &q);
	json_decref(m);
	return q;
}

static inline void asked(struct why *w, struct why_question q, uint64_t from, uint64_t to)
{
	struct err err = { 0 };

	q.tid = SUBJECT;
	q.from = from * MS;
	q.to = to * MS;
	assert_int_equal(why__ask(w, &q, &err), 0);
}

static inline char *as_ms(uint64_t ns, char *buf, size_t size)
{
	snprintf(buf, size, "%llums", (unsigned long long)(ns / MS));
	return buf;
}

/* Node @i of @n and those beside it, the largest first */
static inline const struct why_node *sibling(const struct why_node *n, int i)
{
	for (; i; i--) {
		assert_non_null(n);
		n = n->next;
	}
	assert_non_null(n);
	return n;
}

/* What a node of the tree says: "20ms waited ...". */
static inline void node_says(const struct why *w, const struct why_node *n, const char *want)
{
	struct buf b = { 0 };

	assert_int_equal(buf__printf(&b, "%dms ", (int)(n->ns / MS)), 0);
	assert_int_equal(why_phrase__add(&b, w, n, as_ms), 0);
	assert_string_equal(b.data, want);
	buf__free(&b);
}

/* What node @i of the first level says */
static inline void says(const struct why *w, int i, const char *want)
{
	node_says(w, sibling(why__root(w)->child, i), want);
}

/* What part @i of the first cause says */
static inline void says_below(const struct why *w, int i, const char *want)
{
	node_says(w, sibling(sibling(why__root(w)->child, 0)->child, i), want);
}

/* Set what the stack of @e says. */
static inline void noted(struct why *w, struct sched_event *e, struct stack_note note)
{
	w->notes.v = reallocarray(w->notes.v, w->notes.n + 1, sizeof(note));
	assert_non_null(w->notes.v);
	note.named = true;
	w->notes.v[w->notes.n++] = note;
	e->stack = w->notes.n;
}

static inline void named(struct why *w, uint32_t tid, const char *comm)
{
	snprintf(sched_tasks__get(w->events.tasks, tid)->comm, SCHED_COMM, "%s", comm);
}

/* Set the name of the file that the events come from. */
static inline void comes_from(struct why *w, const char *path)
{
	w->events.files = calloc(1, sizeof(*w->events.files));
	assert_non_null(w->events.files);
	w->events.files[0] = strdup(path);
	assert_non_null(w->events.files[0]);
	w->events.n_files = 1;
}

/* SUBJECT runs from 10 to 40 ms. */
static inline struct why *story_computes(void)
{
	struct why *w = story_begin();

	switches(w, 5, 1, HOG, SUBJECT, true);
	comes_from(w, "a b.data");
	return w;
}

static inline struct why *story_of_reclaim(enum sched_kind kind)
{
	struct why *w = story_computes();

	happens(w, 10, kind, 1, SUBJECT, 0);
	happens(w, 29, kind + 1, 1, SUBJECT, 0);
	switches(w, 40, 1, SUBJECT, HOG, true);
	return w;
}

#endif
