// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dump/window/switch_stacks.h"
#include "perfdata/record.h"
#include "record/offcpu_event.h"

static bool is_switch(const struct event *e)
{
	const struct perf_event_attr *a = &e->attr;

	if (!(a->sample_type & PERF_SAMPLE_CALLCHAIN))
		return false;
	if (e->tp)
		return !strcmp(e->tp->system, "sched") && !strcmp(e->tp->name, "sched_switch");
	return a->type == PERF_TYPE_SOFTWARE && a->config == PERF_COUNT_SW_CONTEXT_SWITCHES;
}

static int compare_switch_ids(const void *a, const void *b)
{
	const struct switch_id *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int list_switch_ids(struct switch_stacks *s, const struct session *session)
{
	for (size_t e = 0; e < session->events->n; e++) {
		const uint64_t *ids;
		struct switch_id *v;
		size_t n;

		if (!session->events->v[e].off_cpu && !is_switch(&session->events->v[e]))
			continue;
		ids = session__event_ids(session, e, &n);
		v = reallocarray(s->ids, s->n_ids + n, sizeof(*v));
		if (!v)
			return -ENOMEM;
		s->ids = v;
		for (size_t i = 0; i < n; i++)
			v[s->n_ids + i] =
				(struct switch_id){ ids[i], session->events->v[e].off_cpu };
		s->n_ids += n;
	}
	if (s->n_ids)
		qsort(s->ids, s->n_ids, sizeof(*s->ids), compare_switch_ids);
	return 0;
}

/* The trigger that @s belongs to, if its subject did not run; NULL: it ran. */
static const struct frbpf_trigger *off_cpu_trigger(const struct incident *inc,
						   const struct frbpf_stacks *s)
{
	for (size_t i = 0; i < inc->n_triggers; i++) {
		const struct frbpf_trigger *t = &inc->triggers[i].t;

		if (t->time == s->time && t->cpu == s->cpu)
			return t->subject.tid && t->subject.tid != t->current.tid ? t : NULL;
	}
	return NULL;
}

int switch_stacks__init(struct switch_stacks *s, const struct incident *inc,
			const struct session *session)
{
	*s = (struct switch_stacks){ 0 };
	for (size_t i = 0; i < inc->n_stacks; i++) {
		const struct frbpf_trigger *t = off_cpu_trigger(inc, &inc->stacks[i].raw);

		if (!t)
			continue;
		s->v[i] = (struct switch_wanted){ .tid = t->subject.tid, .before = t->time };
		s->n = i + 1;
	}
	return s->n ? list_switch_ids(s, session) : 0;
}

/* Get the start of the wait whose stack the sample has. False: it has no stack of a wait. */
static bool sample_wait_began(const struct switch_stacks *s, const struct perf_event_header *h,
			      uint64_t *ret)
{
	const struct switch_id want = { .id = record__id(h) }, *id;

	id = s->n_ids ? bsearch(&want, s->ids, s->n_ids, sizeof(want), compare_switch_ids) : NULL;
	if (id)
		*ret = id->off_cpu ? offcpu_event__began(h) : record__time(h);
	return id;
}

void switch_stacks__note(struct switch_stacks *s, const struct perf_event_header *h)
{
	uint32_t tid = record__tid(h);
	uint64_t began;

	if (!s->n || !sample_wait_began(s, h, &began))
		return;
	for (size_t i = 0; i < s->n; i++) {
		struct switch_wanted *w = &s->v[i];

		if (!w->tid || w->tid != tid || began > w->before || (w->is && began < w->began))
			continue;
		w->is = h;
		w->began = began;
	}
}

/* Copy the part of a callchain after the mark of user space. */
static size_t user_part(const uint64_t *ips, uint64_t n, __u64 *to)
{
	size_t n_user = 0;
	bool user = false;

	for (uint64_t i = 0; i < n && n_user < FRBPF_STACK_MAX; i++) {
		if (ips[i] >= (uint64_t)PERF_CONTEXT_MAX)
			user = ips[i] == (uint64_t)PERF_CONTEXT_USER;
		else if (user)
			to[n_user++] = ips[i];
	}
	return n_user;
}

void switch_stacks__take(const struct switch_stacks *s, struct page_set *pages,
			 struct incident *inc)
{
	for (size_t i = 0; i < s->n; i++) {
		struct incident_stacks *to = &inc->stacks[i];
		const uint64_t *ips;
		uint64_t n = 0;

		if (!s->v[i].is || to->raw.n_user)
			continue;
		ips = page_set__callchain(pages, s->v[i].is, &n);
		to->raw.n_user = ips ? user_part(ips, n, to->raw.user) : 0;
		to->user_of_switch = to->raw.n_user;
	}
}

void switch_stacks__free(struct switch_stacks *s)
{
	free(s->ids);
	*s = (struct switch_stacks){ 0 };
}
