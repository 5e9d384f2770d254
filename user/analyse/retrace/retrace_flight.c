// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/retrace/retrace_impl.h"

struct flight *flight__find(struct want *w, const uint64_t *key)
{
	struct flight *f;

	HASH_FIND(hh, w->flights, key, sizeof(f->key), f);
	if (!f)
		HASH_FIND(hh, w->hanging, key, sizeof(f->key), f);
	return f;
}

static struct flight **flight_table(struct want *w, const struct flight *f)
{
	struct flight *found;

	HASH_FIND(hh, w->flights, f->key, sizeof(f->key), found);
	return found == f ? &w->flights : &w->hanging;
}

static void flight_take_out(struct want *w, struct flight *f)
{
	struct flight **table = flight_table(w, f);

	HASH_DEL(*table, f);
}

/* Add @f to a table. False: out of memory; @f is freed. */
static bool flight_put(struct flight **table, struct flight *f)
{
	HASH_ADD(hh, *table, key, sizeof(f->key), f);
	if (f->hh.tbl)
		return true;
	free(f);
	return false;
}

struct flight *flight__begin(struct want *w, const uint64_t *key, uint64_t time)
{
	struct flight *f = flight__find(w, key);

	if (f)
		flight_take_out(w, f); /* adding @f again makes it the youngest */
	else
		f = malloc(sizeof(*f));
	if (!f)
		return NULL;
	*f = (struct flight){ .begin = time };
	memcpy(f->key, key, sizeof(f->key));
	return flight_put(&w->flights, f) ? f : NULL;
}

void flight__end(struct want *w, struct flight *f)
{
	flight_take_out(w, f);
	free(f);
}

/* Change the key. Any other flight with the new key is dropped. */
void flight__move(struct want *w, struct flight *f, const uint64_t *key)
{
	struct flight **table = flight_table(w, f), *other = flight__find(w, key);

	if (other == f)
		return;
	HASH_DEL(*table, f);
	memcpy(f->key, key, sizeof(f->key));
	if (other)
		free(f);
	else
		flight_put(table, f);
}

static void flights_free(struct flight **table)
{
	struct flight *f, *next;

	HASH_ITER (hh, *table, f, next) {
		HASH_DEL(*table, f);
		free(f);
	}
}

void flights__drop(struct want *w)
{
	flights_free(&w->flights);
	flights_free(&w->hanging);
	flights_free(&w->running);
}

void retraced__init(struct retraced *e, const struct retrace_task *subject,
		    const struct retrace_task *current)
{
	const struct retrace_task *tasks[] = { subject, current };

	*e = (struct retraced){ 0 };
	for (int i = 0; i < 2; i++) {
		const struct retrace_task *t = tasks[i];
		uint64_t(*val)[2] = e->val[i];

		e->unknown[i] = (1U << FRBPF_FIELD_VALUE) - 1;
		if (!t)
			continue;
		e->unknown[i] &= ~t->known;
		memcpy(val[FRBPF_FIELD_COMM], t->comm, sizeof(t->comm));
		memcpy(val[FRBPF_FIELD_PROCESS], t->process, sizeof(t->process));
		val[FRBPF_FIELD_PID][0] = t->pid;
		val[FRBPF_FIELD_TID][0] = t->tid;
		val[FRBPF_FIELD_PRIO][0] = (int64_t)t->prio;
	}
	/* all fields of the event but its value are unknown until they are set */
	e->unknown[0] |= ((1U << FRBPF_FIELD_MAX) - 1) & ~((1U << (FRBPF_FIELD_VALUE + 1)) - 1);
}

void retraced__set(struct retraced *e, uint32_t field, uint64_t value)
{
	e->val[0][field][0] = value;
	e->val[0][field][1] = 0;
	e->unknown[0] &= ~(1U << field);
}

void retraced__set_text(struct retraced *e, uint32_t field, const char *text)
{
	char padded[FRBPF_COMM_LEN] = { 0 };

	strncpy(padded, text, sizeof(padded) - 1);
	memcpy(e->val[0][field], padded, sizeof(padded));
	e->unknown[0] &= ~(1U << field);
}

int want__report(struct want *w, uint64_t begin, uint64_t time, struct retraced *e)
{
	uint64_t value = time > begin ? time - begin : 0;

	e->begin = begin;
	e->time = time;
	e->val[0][FRBPF_FIELD_VALUE][0] = value;
	return w->w.take(e, w->w.arg);
}

/* Report that the flight @f has not ended yet. */
static int flight_report_pending(struct want *w, const struct flight *f)
{
	struct retraced e;

	retraced__init(&e, &f->task, &f->task);
	retraced__set(&e, FRBPF_FIELD_CPU, f->cpu);
	e.val[1][FRBPF_FIELD_CPU][0] = f->cpu;
	e.unknown[1] &= ~(1U << FRBPF_FIELD_CPU);
	e.pending = true;
	if (w->w.source == FRBPF_SOURCE_SYSCALL) {
		e.key = f->number;
		retraced__set(&e, FRBPF_FIELD_SYSCALL, f->number);
	}
	if (w->w.source == FRBPF_SOURCE_OFFCPU)
		retraced__set(&e, FRBPF_FIELD_STATE, f->state);
	if (w->w.source == FRBPF_SOURCE_RECLAIM) {
		retraced__set(&e, FRBPF_RECLAIM_ORDER, f->args[STALL_ORDER][0]);
		retraced__set(&e, FRBPF_RECLAIM_GFP, f->args[STALL_GFP][0]);
	}
	return want__report(w, f->begin, f->begin + w->w.pending + 1, &e);
}

int flights__pass(struct want *w, uint64_t time)
{
	struct flight *f, *next;
	int err;

	if (!w->w.pending)
		return 0;
	HASH_ITER (hh, w->flights, f, next) {
		if (time - f->begin <= w->w.pending)
			return 0;
		err = flight_report_pending(w, f);
		if (err)
			return err;
		HASH_DEL(w->flights, f);
		if (!flight_put(&w->hanging, f))
			return -ENOMEM;
	}
	return 0;
}
