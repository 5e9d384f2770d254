// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/format_field.h"
#include "dump/window/contradiction.h"
#include "dump/window/recorded_ends.h"
#include "dump/window/task_moves.h"
#include "perfdata/record.h"

/*
 * Bits of prev_state below the kernel's TASK_REPORT_MAX, which marks a preempted task. They say how
 * a task sleeps.
 */
#define SLEEP_STATES 0xff

/*
 * The events to look for. If a session has an event twice, only the first one is used; otherwise
 * each hit would count twice.
 */
enum { SWITCH, WAKEUP, N_EVENTS };
static const char *const event_names[N_EVENTS] = { "sched_switch", "sched_wakeup" };

struct id {
	uint64_t id;
	int event;
};

struct sched_fields {
	struct format_field prev_pid, prev_state, next_pid; /* of SWITCH */
	struct format_field pid;			    /* of WAKEUP */
};

struct sched_ids {
	struct id *v; /* sorted; owned */
	size_t n;
	struct sched_fields fields;
};

/*
 * A trigger whose wait is checked. An event names the subject by its number in the initial pid
 * namespace, a sample by that in ours. A switch-out gives both numbers.
 */
struct suspect {
	struct incident_trigger *it;
	uint64_t begin, end; /* ns; both exclusive */
	bool of_cpu;	     /* a wait for a CPU: the task was always ready to run */
	uint64_t number;     /* tid of its subject in events */
	bool numbered;
	bool was_out, was_in, slept;
};

struct suspects {
	struct suspect v[INCIDENT_TRIGGERS_MAX];
	size_t n;
};

static int compare_sched_ids(const void *a, const void *b)
{
	const struct id *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static const struct event *find_session_event(const struct session *s, const char *name,
					      size_t *ret)
{
	for (size_t e = 0; e < s->events->n; e++) {
		const struct event *ev = &s->events->v[e];

		if (ev->tp && !strcmp(ev->tp->system, "sched") && !strcmp(ev->tp->name, name) &&
		    ev->attr.sample_type & PERF_SAMPLE_RAW) {
			*ret = e;
			return ev;
		}
	}
	return NULL;
}

static int add_sched_ids(struct sched_ids *ids, const struct session *s, size_t event, int which)
{
	const uint64_t *of_event;
	struct id *v;
	size_t n;

	of_event = session__event_ids(s, event, &n);
	v = reallocarray(ids->v, ids->n + n + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	ids->v = v;
	for (size_t i = 0; i < n; i++)
		ids->v[ids->n++] = (struct id){ of_event[i], which };
	return 0;
}

static bool find_fields(struct sched_fields *f, const struct event *ev, int which)
{
	const char *text = ev->tp->format;
	size_t len = ev->tp->format_len;

	if (which == WAKEUP)
		return format_field__find(text, len, "pid", &f->pid);
	return format_field__find(text, len, "prev_pid", &f->prev_pid) &&
	       format_field__find(text, len, "prev_state", &f->prev_state) &&
	       format_field__find(text, len, "next_pid", &f->next_pid);
}

/* List the ids. Empty: the session lacks what is needed. */
static int list_sched_ids(struct sched_ids *ids, const struct session *s)
{
	int err = 0;

	for (int which = 0; !err && which < N_EVENTS; which++) {
		size_t event;
		const struct event *ev = find_session_event(s, event_names[which], &event);

		if (ev && find_fields(&ids->fields, ev, which))
			err = add_sched_ids(ids, s, event, which);
		else if (which == SWITCH)
			break;
	}
	if (ids->n)
		qsort(ids->v, ids->n, sizeof(*ids->v), compare_sched_ids);
	return err;
}

/* False: the trigger does not report a task's wait. */
static bool suspect__init(struct suspect *s, struct incident_trigger *it)
{
	const struct frbpf_trigger *t = &it->t;

	if (!it->rule || !when__is_wait(t->source) || !t->subject.tid || t->value >= t->time ||
	    t->flags & FRBPF_TRIGGER_SHARE)
		return false;
	*s = (struct suspect){
		.it = it,
		.begin = t->time - t->value,
		.end = t->time,
		.of_cpu = t->source == FRBPF_SOURCE_RUNQLAT,
	};
	return true;
}

static void list_suspects(struct suspects *s, struct incident *inc)
{
	for (size_t i = 0; i < inc->n_triggers; i++)
		s->n += suspect__init(&s->v[s->n], &inc->triggers[i]);
}

/* A sample of one of the events, with its fields. */
struct sighting {
	uint64_t time;
	uint32_t tid; /* the task that ran */
	int event;
	uint64_t prev, next, state, woken;
};

static bool sighting__read(const struct sched_ids *ids, struct page_set *pages,
			   const struct timeline_entry *e, struct sighting *ret)
{
	const struct sched_fields *f = &ids->fields;
	const struct id wanted = { .id = record__id(e->rec) }, *id;
	const void *raw;
	uint32_t size;

	if (e->rec->type != PERF_RECORD_SAMPLE)
		return false;
	id = bsearch(&wanted, ids->v, ids->n, sizeof(*id), compare_sched_ids);
	raw = id ? page_set__raw(pages, e->rec, &size) : NULL;
	if (!raw)
		return false;
	*ret = (struct sighting){ .time = e->time, .tid = record__tid(e->rec), .event = id->event };
	if (id->event == WAKEUP)
		return format_field__number(&f->pid, raw, size, &ret->woken);
	return format_field__number(&f->prev_pid, raw, size, &ret->prev) &&
	       format_field__number(&f->next_pid, raw, size, &ret->next) &&
	       format_field__number(&f->prev_state, raw, size, &ret->state);
}

static bool time_in_wait(const struct suspect *s, uint64_t time)
{
	return time > s->begin && time < s->end;
}

static bool subject_switched_out(const struct suspect *s, const struct sighting *g)
{
	return g->event == SWITCH && g->tid == s->it->t.subject.tid;
}

/* Learn the tid that events use for the subject. */
static void suspect__number(struct suspect *s, const struct sighting *g)
{
	if (!s->numbered && time_in_wait(s, g->time) && subject_switched_out(s, g)) {
		s->number = g->prev;
		s->numbered = true;
	}
}

static void suspect__note(struct suspect *s, const struct sighting *g)
{
	if (!s->numbered || !time_in_wait(s, g->time))
		return;
	if (subject_switched_out(s, g)) {
		if (s->was_in || s->was_out)
			incident_trigger__contradict(s->it, g->time);
		s->was_out = true;
		s->slept = g->state & SLEEP_STATES;
	} else if (g->event == SWITCH && g->next == s->number) {
		s->was_in = true;
	} else if (g->event == WAKEUP && g->woken == s->number && s->slept && s->of_cpu) {
		incident_trigger__contradict(s->it, g->time);
	}
}

static void each_sighting(struct suspects *s, const struct sched_ids *ids, struct page_set *pages,
			  const struct timeline *t,
			  void (*fn)(struct suspect *s, const struct sighting *g))
{
	struct sighting g;

	for (size_t i = 0; i < t->n; i++) {
		if (!sighting__read(ids, pages, &t->v[i], &g))
			continue;
		for (size_t k = 0; k < s->n; k++)
			fn(&s->v[k], &g);
	}
}

static int note_moves(const struct sighting *g, struct task_moves **moves)
{
	int err;

	if (g->event == WAKEUP)
		return task_moves__add_wakeup(moves, g->woken, g->time);
	err = task_moves__add_out(moves, g->prev, g->tid, g->state & SLEEP_STATES, g->time);
	return err ?: task_moves__add_in(moves, g->next, g->time);
}

static int list_moves(const struct sched_ids *ids, struct page_set *pages, const struct timeline *t,
		      struct task_moves **moves)
{
	struct sighting g;
	int err = 0;

	for (size_t i = 0; !err && i < t->n; i++) {
		if (sighting__read(ids, pages, &t->v[i], &g))
			err = note_moves(&g, moves);
	}
	return err;
}

/* Does @s have a sample of every switch? */
static bool has_all_switches(const struct session *s)
{
	size_t e;
	const struct event *ev = find_session_event(s, event_names[SWITCH], &e);

	return ev && s->target.kind == RECORD_ALL && !ev->attr.freq && ev->attr.sample_period <= 1;
}

static void suspect__compare(struct suspect *s, const struct dump_result *res)
{
	enum incident_compared now = COMPARED_AGREES;

	if (!res->all_switches)
		now = COMPARED_NOT_RECORDED;
	else if (s->end > res->end)
		now = COMPARED_TOO_LATE;
	else if (s->begin < res->complete)
		now = COMPARED_SHORT;
	else if (dump_result__has_losses(res, s->begin))
		now = COMPARED_LOSSES;
	if (now > s->it->compared)
		s->it->compared = now;
}

int contradiction__look(struct incident *inc, const struct session *s, struct page_set *pages,
			const struct timeline *t, struct dump_result *res)
{
	struct suspects suspects = { .n = 0 };
	struct sched_ids ids = { 0 };
	int err = list_sched_ids(&ids, s);

	list_suspects(&suspects, inc);
	res->all_switches = has_all_switches(s);
	if (!err && ids.n) {
		each_sighting(&suspects, &ids, pages, t, suspect__number);
		each_sighting(&suspects, &ids, pages, t, suspect__note);
	}
	if (!err && ids.n && !inc->manual) /* a dump by hand gets no merged triggers */
		err = list_moves(&ids, pages, t, &res->moves);
	for (size_t i = 0; !err && i < suspects.n; i++)
		suspect__compare(&suspects.v[i], res);
	free(ids.v);
	return err ?: recorded_ends__look(inc, s, pages, t, res);
}

/*
 * Judge a wait that may have ended after the window. Its task's last moves in the window are
 * enough: any two of them inside the wait contradict it.
 */
static void suspect__judge_moves(struct suspect *s, const struct dump_result *res)
{
	struct last_moves m;

	if (!task_moves__last(res->moves, s->it->t.subject.tid, &m))
		return;
	if (time_in_wait(s, m.before_out) && time_in_wait(s, m.out))
		incident_trigger__contradict(s->it, m.out);
	if (s->of_cpu && time_in_wait(s, m.slept) && time_in_wait(s, m.woken))
		incident_trigger__contradict(s->it, m.woken);
}

void contradiction__look_merged(struct incident *inc)
{
	size_t n = __atomic_load_n(&inc->n_merged, __ATOMIC_ACQUIRE);
	struct suspect suspect;

	for (size_t i = 0; i < n; i++) {
		if (!suspect__init(&suspect, &inc->merged[i])) {
			inc->merged[i].compared = COMPARED_MERGED;
			continue;
		}
		for (size_t k = 0; k < INCIDENT_SESSIONS_MAX; k++) {
			const struct dump_result *res = &inc->results[k];

			if (!res->session || res->error)
				continue;
			suspect__judge_moves(&suspect, res);
			suspect__compare(&suspect, res);
		}
	}
}
