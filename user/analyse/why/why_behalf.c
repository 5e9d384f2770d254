// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds the task on whose behalf a kernel thread works. The task wakes the thread to give it work,
 * and the wake-up is recorded. Workers of io_uring have the tid of the task in their name.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/why/why_impl.h"
#include "common/cleanup.h"

#define IO_WORKER "iou-wrk-" /* then the tid of the task that owns its ring */
#define VECTORS	  10

static bool task_begins_with(const struct sched_task *t, const char *name)
{
	return !strncmp(t->comm, name, strlen(name));
}

/* Does the thread work only for others, who wake it? */
static bool is_worker(const struct sched_task *t)
{
	static const char *const workers[] = { "kworker/", "kswapd",   "kcompactd",
					       "jbd2/",	   "xfsaild/", "btrfs-" };

	for (size_t i = 0; i < ARRAY_SIZE(workers); i++)
		if (task_begins_with(t, workers[i]))
			return true;
	return false;
}

bool why__is_ring_worker(const struct why *w, uint32_t tid)
{
	const struct sched_task *t = sched_events__task(&w->events, tid);

	return t && task_begins_with(t, IO_WORKER);
}

/* The task whose io_uring @t works for; 0: unknown */
static uint32_t ring_owner(const struct why *w, const struct sched_task *t)
{
	char number[SCHED_COMM];
	const struct sched_task *owner;

	memcpy(number, t->comm, sizeof(number));
	number[SCHED_COMM - 1] = '\0';
	owner = sched_events__task(&w->events, strtoul(number + strlen(IO_WORKER), NULL, 10));
	return owner ? owner->tid : 0;
}

/*
 * A kworker that goes to sleep wakes another for the rest of the work. No event tells whose work
 * that is.
 */
static bool passes_work_on(const struct why *w, uint32_t tid)
{
	const struct sched_task *t = sched_events__task(&w->events, tid);

	return t && task_begins_with(t, "kworker/");
}

/* Who woke @tid last before @time, other than an interrupt; 0: not recorded */
static uint32_t last_waker(struct why *w, uint32_t tid, uint64_t time)
{
	const struct task_line *l = sched_timeline__task(&w->timeline, tid);
	const struct sched_event *e;

	for (size_t i = l ? task_line__at(l, time) + 1 : 0; i-- > 0 && why__may_look(w);) {
		if (i >= l->n || l->v[i].from > time || l->v[i].wake == NO_EVENT)
			continue;
		e = &w->events.v[l->v[i].wake];
		return e->kind != SCHED_WAKING || passes_work_on(w, e->tid) ||
				       e->flags & (SCHED_HARDIRQ | SCHED_SOFTIRQ_FLAG)
			       ? 0
			       : e->tid;
	}
	return 0;
}

uint32_t why_behalf__of(struct why *w, uint32_t tid, uint64_t time)
{
	const struct sched_task *t = sched_events__task(&w->events, tid);

	if (why__is_ring_worker(w, tid))
		return ring_owner(w, t);
	return t && is_worker(t) ? last_waker(w, tid, time) : 0;
}

uint32_t why_behalf__softirq(const struct why *w, uint32_t tid, uint32_t cpu, uint64_t from,
			     uint64_t to)
{
	const struct cpu_line *c = sched_timeline__cpu(&w->timeline, cpu);
	uint64_t ns[VECTORS] = { 0 };
	uint32_t most = 0;

	if (!c || !why__is_softirqd(w, tid))
		return 0;
	for (size_t i = cpu_line__irq_at(c, from); i < c->n_irqs && c->irqs[i].from < to; i++) {
		const struct irq_run *r = &c->irqs[i];

		if (r->soft && r->number < VECTORS)
			ns[r->number] +=
				(r->to < to ? r->to : to) - (r->from > from ? r->from : from);
	}
	for (uint32_t v = 0; v < VECTORS; v++)
		if (ns[v] && (!most || ns[v] > ns[most - 1]))
			most = v + 1;
	return most;
}
