// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/prev_state.h"
#include "analyse/why/sched_events.h"
#include "analyse/why/sched_timeline.h"
#include "analyse/why/wait_kind.h"
#include "common/array.h"
#include "common/clock.h"

/* ns: the event of a lock and the switch that begins the wait for it are at most this far apart */
#define LOCK_NS 100000

/* ns: events of two recorders for one switch or wake-up are at most this far apart */
#define TWIN_NS 100000

static int cpu_room(struct sched_timeline *t, uint32_t cpu)
{
	size_t want = (size_t)cpu + 1;
	struct cpu_line *v;

	if (cpu < t->n_cpus)
		return 0;
	want = want < 2 * t->n_cpus ? 2 * t->n_cpus : want;
	v = reallocarray(t->cpus, want, sizeof(*v));
	if (!v)
		return -ENOMEM;
	memset(v + t->n_cpus, 0, (want - t->n_cpus) * sizeof(*v));
	t->cpus = v;
	t->n_cpus = want;
	return 0;
}

/* NULL: out of memory. */
static struct task_line *line_of(struct sched_timeline *t, uint32_t tid)
{
	struct sched_task *task = sched_tasks__get(t->events->tasks, tid);

	if (!task)
		return NULL;
	if (task->timeline)
		return &t->tasks[task->timeline - 1];
	if (!ARRAY_HAS_ROOM(t->tasks, t->n_tasks, t->tasks_cap, 64))
		return NULL;
	t->tasks[t->n_tasks] = (struct task_line){ 0 };
	task->timeline = ++t->n_tasks;
	return &t->tasks[t->n_tasks - 1];
}

/* The open span, whose end is unknown. NULL: there is none. */
static struct task_span *last_span(struct task_line *l)
{
	return l->n ? &l->v[l->n - 1] : NULL;
}

/* End the open span at @time, and begin one in @state. NULL: out of memory. */
static struct task_span *span_begin(struct sched_timeline *t, struct task_line *l,
				    enum task_state state, uint64_t time, uint32_t cpu)
{
	struct task_span *s = last_span(l);
	uint64_t begin = t->events->begin;

	if (!s && time > begin) { /* before its first event */
		if (!ARRAY_HAS_ROOM(l->v, l->n, l->cap, 8))
			return NULL;
		l->v[l->n++] = (struct task_span){ .from = begin,
						   .to = time,
						   .out = NO_EVENT,
						   .wake = NO_EVENT,
						   .lock = NO_EVENT,
						   .state = TASK_UNSEEN };
	} else if (s) {
		s->to = time;
	}
	if (!ARRAY_HAS_ROOM(l->v, l->n, l->cap, 8))
		return NULL;
	l->v[l->n++] = (struct task_span){ .from = time,
					   .to = UINT64_MAX,
					   .cpu = cpu,
					   .out = NO_EVENT,
					   .wake = NO_EVENT,
					   .lock = NO_EVENT,
					   .state = state };
	return &l->v[l->n - 1];
}

/* @tid runs on the CPU from @time on. 0 or -ENOMEM. */
static int run_begin(struct cpu_line *c, uint32_t tid, int32_t prio, uint64_t time, bool known)
{
	if (c->n)
		c->v[c->n - 1].to = time;
	if (!ARRAY_HAS_ROOM(c->v, c->n, c->cap, 64))
		return -ENOMEM;
	c->v[c->n++] = (struct cpu_run){
		.from = time, .to = UINT64_MAX, .tid = tid, .prio = prio, .known = known
	};
	return 0;
}

/*
 * Task @tid is seen running on @cpu. If no event showed its return, it came back earlier, at an
 * unknown time.
 */
static int note_alive(struct sched_timeline *t, uint32_t tid, uint32_t cpu, uint64_t time)
{
	struct cpu_line *c = &t->cpus[cpu];
	struct cpu_run *run = c->n ? &c->v[c->n - 1] : NULL;
	const struct sched_task *task;
	struct task_line *l;
	struct task_span *s;

	if (!tid)
		return 0;
	l = line_of(t, tid);
	if (!l)
		return -ENOMEM;
	s = last_span(l);
	if (s && s->state == TASK_RUNNING && s->cpu == cpu)
		return 0;
	if (s && time - s->from < PREV_STATE_SWITCH_NS) /* it is on its way out */
		return 0;
	if (!run) { /* no switch before it: it ran from the start of the recording */
		s = span_begin(t, l, TASK_RUNNING, s ? time : t->events->begin, cpu);
	} else {
		if (s)
			s->end_hidden = true;
		s = span_begin(t, l, TASK_RUNNING, time, cpu);
	}
	if (!s)
		return -ENOMEM;
	task = sched_tasks__find(t->events->tasks, tid);
	return run_begin(c, tid, task->prio, s->from, true);
}

/*
 * Did another recorder record the same switch? A task does not switch to the same task twice in a
 * row. The event with a stack is kept.
 */
static bool is_twin_switch(struct sched_timeline *t, const struct task_line *prev, uint32_t i)
{
	const struct sched_event *e = &t->events->v[i];
	const struct task_span *s = prev->n ? &prev->v[prev->n - 1] : NULL;
	struct sched_event *before;

	if (!s || s->out == NO_EVENT || e->tid == e->other)
		return false;
	before = &t->events->v[s->out];
	if (before->kind != SCHED_SWITCH || before->cpu != e->cpu || before->other != e->other ||
	    before->file == e->file || e->time - before->time > TWIN_NS)
		return false;
	if (e->has_stack && !before->has_stack) {
		before->has_stack = true;
		before->file = e->file;
		before->sample = e->sample;
	}
	return true;
}

static int switch_out(struct sched_timeline *t, uint32_t i)
{
	const struct sched_event *e = &t->events->v[i];
	bool runnable = !(e->arg & PREV_STATE_BITS);
	struct task_line *l;
	struct task_span *s;
	int err;

	if (!e->tid)
		return 0;
	err = note_alive(t, e->tid, e->cpu, e->time);
	l = line_of(t, e->tid);
	if (err || !l)
		return -ENOMEM;
	s = span_begin(t, l,
		       runnable			   ? TASK_RUNNABLE
		       : e->arg & PREV_STATE_ENDED ? TASK_UNSEEN
						   : TASK_BLOCKED,
		       e->time, e->cpu);
	if (!s)
		return -ENOMEM;
	s->out = i;
	if (l->lock && e->time - t->events->v[l->lock - 1].time < LOCK_NS)
		s->lock = l->lock - 1;
	l->lock = 0;
	return 0;
}

static int switch_in(struct sched_timeline *t, uint32_t i)
{
	const struct sched_event *e = &t->events->v[i];
	struct task_line *l;
	struct task_span *s;

	struct cpu_line *c = &t->cpus[e->cpu];

	/* the priority may have changed while the task ran */
	if (c->n && c->v[c->n - 1].tid == e->tid)
		c->v[c->n - 1].prio = e->prio;
	if (run_begin(c, e->other, e->other_prio, e->time, true))
		return -ENOMEM;
	if (!e->other)
		return 0;
	l = line_of(t, e->other);
	if (!l)
		return -ENOMEM;
	s = last_span(l);
	if (s && s->state == TASK_RUNNING) { /* its switch-out was not seen */
		s->end_hidden = true;
		s->state = TASK_UNSEEN;
	}
	return span_begin(t, l, TASK_RUNNING, e->time, e->cpu) ? 0 : -ENOMEM;
}

static int feed_switch(struct sched_timeline *t, uint32_t i)
{
	const struct sched_event *e = &t->events->v[i];
	struct task_line *prev;

	if (e->tid) {
		prev = line_of(t, e->tid);
		if (!prev)
			return -ENOMEM;
		if (is_twin_switch(t, prev, i))
			return 0;
	}
	if (!t->cpus[e->cpu].n && e->time > t->events->begin &&
	    run_begin(&t->cpus[e->cpu], e->tid, e->prio, t->events->begin, true))
		return -ENOMEM;
	return switch_out(t, i) ?: switch_in(t, i);
}

/* Is the new event for a wake-up better: in the waker's context, or with a stack? */
static bool is_better_wake(const struct sched_event *new, const struct sched_event *old)
{
	if (new->kind != old->kind)
		return new->kind == SCHED_WAKING;
	return new->tid == old->tid &&new->has_stack &&
	       !old->has_stack &&new->time - old->time < TWIN_NS;
}

static int feed_wake(struct sched_timeline *t, uint32_t i)
{
	const struct sched_event *e = &t->events->v[i];
	struct task_line *l = line_of(t, e->other);
	struct task_span *s;

	if (!l)
		return -ENOMEM;
	s = last_span(l);
	if (s && s->state == TASK_RUNNING)
		return 0; /* woken before it had left the CPU */
	if (s && s->state == TASK_RUNNABLE) {
		if (s->wake != NO_EVENT && is_better_wake(e, &t->events->v[s->wake])) {
			if (s > l->v && s[-1].wake == s->wake)
				s[-1].wake = i;
			s->wake = i;
		}
		return 0;
	}
	if (!s && e->kind != SCHED_NEW && e->time > t->events->begin) {
		/* it was blocked before; no event tells what it waited for */
		s = span_begin(t, l, TASK_BLOCKED, t->events->begin, e->arg);
		if (!s)
			return -ENOMEM;
	}
	if (s)
		s->wake = i;
	s = span_begin(t, l, TASK_RUNNABLE, e->time, e->arg);
	if (!s)
		return -ENOMEM;
	s->wake = i;
	return 0;
}

/* Add an interrupt that has ended. Nested ones are part of it. */
static int irq_add(struct cpu_line *c, struct irq_run r)
{
	if (!ARRAY_HAS_ROOM(c->irqs, c->n_irqs, c->irqs_cap, 64))
		return -ENOMEM;
	while (c->n_irqs && c->irqs[c->n_irqs - 1].from >= r.from)
		c->n_irqs--;
	if (c->n_irqs && c->irqs[c->n_irqs - 1].to > r.from)
		r.from = c->irqs[c->n_irqs - 1].to;
	c->irqs[c->n_irqs++] = r;
	return 0;
}

static int feed_irq(struct sched_timeline *t, const struct sched_event *e)
{
	bool soft = e->kind == SCHED_SOFTIRQ || e->kind == SCHED_SOFTIRQ_END;
	struct cpu_line *c = &t->cpus[e->cpu];
	struct irq_run *open = &c->open[soft];
	struct irq_run r = *open;

	if (e->kind == SCHED_IRQ || e->kind == SCHED_SOFTIRQ) {
		*open = (struct irq_run){ .from = e->time,
					  .handler = sched_events__handler(t->events, e),
					  .number = e->arg,
					  .soft = soft };
		return 0;
	}
	open->from = 0;
	if (!r.from || r.number != e->arg)
		return 0;
	r.to = e->time;
	return irq_add(c, r);
}

/*
 * Add a long interrupt, or many short ones, from one event. The short ones are taken to have run
 * just before the event.
 */
static int feed_interrupt(struct sched_timeline *t, const struct sched_event *e)
{
	struct irq_run r = { .to = e->time,
			     .handler = sched_events__handler(t->events, e),
			     .number = e->arg,
			     .soft = e->prio == 1 };

	if (!e->value || e->value > e->time)
		return 0;
	r.from = e->time - e->value;
	return irq_add(&t->cpus[e->cpu], r);
}

static int reclaim_close(struct task_line *l, uint64_t to)
{
	if (!ARRAY_HAS_ROOM(l->reclaims, l->n_reclaims, l->reclaims_cap, 16))
		return -ENOMEM;
	l->open.to = to;
	l->reclaims[l->n_reclaims++] = l->open;
	l->open.from = 0;
	return 0;
}

static int feed_reclaim(struct sched_timeline *t, const struct sched_event *e)
{
	bool begins = e->kind == SCHED_RECLAIM || e->kind == SCHED_CGROUP_RECLAIM ||
		      e->kind == SCHED_COMPACTION;
	struct task_line *l = e->tid ? line_of(t, e->tid) : NULL;

	if (!e->tid)
		return 0;
	if (!l)
		return -ENOMEM;
	if (begins) {
		l->open = (struct reclaim_run){ .from = e->time, .kind = e->kind };
		return 0;
	}
	return l->open.from && e->kind == l->open.kind + 1 ? reclaim_close(l, e->time) : 0;
}

/*
 * Note that a task waits for a lock, or has spun for it. The event comes right before or after the
 * task leaves its CPU, or when the spin has ended.
 */
static int feed_lock(struct sched_timeline *t, uint32_t i)
{
	const struct sched_event *e = &t->events->v[i];
	struct task_line *l = line_of(t, e->tid);
	struct task_span *s;
	uint64_t spun;

	if (!l)
		return -ENOMEM;
	s = last_span(l);
	l->lock = lock_kind__is_taken(e->arg) ? 0 : i + 1;
	if (l->lock && s && s->state == TASK_BLOCKED && e->time - s->from < LOCK_NS) {
		s->lock = i;
		l->lock = 0;
	}
	spun = (uint64_t)e->prio * 1000;
	if (!spun || spun > e->time)
		return 0;
	if (!ARRAY_HAS_ROOM(l->spins, l->n_spins, l->spins_cap, 16))
		return -ENOMEM;
	l->spins[l->n_spins++] = (struct spin_run){ e->time - spun, e->time, i };
	return 0;
}

static int feed_sample(struct sched_timeline *t, uint32_t i)
{
	const struct sched_event *e = &t->events->v[i];
	struct task_line *l = e->tid ? line_of(t, e->tid) : NULL;

	if (!e->tid)
		return 0;
	if (!l || !ARRAY_HAS_ROOM(l->samples, l->n_samples, l->samples_cap, 16))
		return -ENOMEM;
	l->samples[l->n_samples++] = i;
	return 0;
}

static int feed_gap(struct sched_timeline *t, const struct sched_event *e)
{
	if (!ARRAY_HAS_ROOM(t->gaps, t->n_gaps, t->gaps_cap, 16))
		return -ENOMEM;
	t->gaps[t->n_gaps++] = (struct gap){ e->value, e->time };
	return 0;
}

/* States are numbers that fall as a CPU goes offline. */
static int feed_cpuhp(struct sched_timeline *t, const struct sched_event *e)
{
	bool goes_down = e->prio < (int32_t)e->value;
	struct off_run *last;
	struct cpu_line *c;

	if (cpu_room(t, e->arg))
		return -ENOMEM;
	c = &t->cpus[e->arg];
	last = c->n_offs && c->offs[c->n_offs - 1].to == UINT64_MAX ? &c->offs[c->n_offs - 1]
								    : NULL;
	if (last && !goes_down)
		last->to = e->time;
	if (last || !goes_down)
		return 0;
	if (!ARRAY_HAS_ROOM(c->offs, c->n_offs, c->offs_cap, 4))
		return -ENOMEM;
	c->offs[c->n_offs++] = (struct off_run){ e->time, UINT64_MAX };
	return 0;
}

/* Did the wait begin in the recording? */
static bool has_begun(const struct sched_timeline *t, const struct sched_event *e)
{
	return e->time > t->events->begin && e->value < e->time - t->events->begin;
}

/* The task's first event is about a wait that began before the recording. */
static int begin_off_cpu_time(struct sched_timeline *t, struct task_line *l, uint32_t i)
{
	const struct sched_event *e = &t->events->v[i];
	struct task_span *s = l->n ? l->v : NULL;

	if (e->time <= t->events->begin)
		return 0;
	if (!s)
		s = span_begin(t, l, TASK_BLOCKED, t->events->begin, e->cpu);
	if (!s)
		return -ENOMEM;
	if (s->state == TASK_BLOCKED)
		s->out = i;
	return 0;
}

/*
 * Give the stack of a wait to the switch-out that began the wait. The sample is written before the
 * task runs again, so the last switch-out before the sample is meant. If the time of that
 * switch-out does not fit, the record of the right one was lost.
 */
static int feed_off_cpu_time(struct sched_timeline *t, uint32_t i)
{
	const struct sched_event *e = &t->events->v[i];
	struct task_line *l = e->tid ? line_of(t, e->tid) : NULL;
	struct sched_event *out;
	size_t n;

	if (!e->tid)
		return 0;
	if (!l)
		return -ENOMEM;
	/* skip at most the spans BLOCKED, RUNNABLE and RUNNING after the switch-out */
	for (n = l->n; n && l->n - n < 3 && l->v[n - 1].out == NO_EVENT;)
		n--;
	if (!n && !has_begun(t, e))
		return begin_off_cpu_time(t, l, i);
	if (!n || l->v[n - 1].out == NO_EVENT || !e->has_stack)
		return 0;
	out = &t->events->v[l->v[n - 1].out];
	if (out->has_stack || ns_between(out->time + e->value, e->time) > TWIN_NS)
		return 0;
	out->has_stack = true;
	out->file = e->file;
	out->sample = e->sample;
	return 0;
}

static int feed_event(struct sched_timeline *t, uint32_t i)
{
	const struct sched_event *e = &t->events->v[i];
	int err = cpu_room(t, e->cpu);

	if (err)
		return err;
	if (e->kind == SCHED_GAP)
		return feed_gap(t, e);
	if (e->kind == SCHED_OFF_CPU)
		return feed_off_cpu_time(t, i);
	if (e->kind == SCHED_SWITCH)
		return feed_switch(t, i);
	if (e->kind == SCHED_LOCK)
		return e->tid ? feed_lock(t, i) : 0;
	if (e->time >= t->events->begin)
		err = note_alive(t, e->tid, e->cpu, e->time);
	if (err)
		return err;
	switch (e->kind) {
	case SCHED_WAKING:
	case SCHED_WAKEUP:
	case SCHED_NEW:
		return e->time >= t->events->begin ? feed_wake(t, i) : 0;
	case SCHED_IRQ:
	case SCHED_IRQ_END:
	case SCHED_SOFTIRQ:
	case SCHED_SOFTIRQ_END:
		return feed_irq(t, e);
	case SCHED_INTERRUPT:
		return feed_interrupt(t, e);
	case SCHED_RECLAIM:
	case SCHED_RECLAIM_END:
	case SCHED_CGROUP_RECLAIM:
	case SCHED_CGROUP_RECLAIM_END:
	case SCHED_COMPACTION:
	case SCHED_COMPACTION_END:
		return feed_reclaim(t, e);
	case SCHED_SAMPLE:
		return feed_sample(t, i);
	case SCHED_CPUHP:
		return feed_cpuhp(t, e);
	default:
		return 0;
	}
}

static int task_close(struct task_line *l, uint64_t end)
{
	if (l->n)
		last_span(l)->to = end;
	return l->open.from ? reclaim_close(l, end) : 0;
}

/* Close the softirq first: the IRQ may be nested in it. */
static int cpu_close(struct cpu_line *c, uint64_t end)
{
	int err = 0;

	if (c->n)
		c->v[c->n - 1].to = end;
	for (int soft = 1; soft >= 0 && !err; soft--) {
		c->open[soft].to = end;
		if (c->open[soft].from && c->open[soft].from < end)
			err = irq_add(c, c->open[soft]);
	}
	return err;
}

/* What has not ended lasts until the end of the recording. */
static int close_tasks(struct sched_timeline *t)
{
	uint64_t end = t->events->end;
	int err = 0;

	for (size_t i = 0; i < t->n_tasks && !err; i++)
		err = task_close(&t->tasks[i], end);
	for (size_t i = 0; i < t->n_cpus && !err; i++)
		err = cpu_close(&t->cpus[i], end);
	return err;
}

static int compare_gaps(const void *a, const void *b)
{
	const struct gap *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

/* Gaps of several CPUs may overlap. */
static void join_gaps(struct sched_timeline *t)
{
	size_t n = 0;

	if (t->n_gaps)
		qsort(t->gaps, t->n_gaps, sizeof(*t->gaps), compare_gaps);
	for (size_t i = 0; i < t->n_gaps; i++) {
		struct gap *last = n ? &t->gaps[n - 1] : NULL, g = t->gaps[i];

		if (g.from >= g.to)
			continue;
		if (!last || last->to < g.from)
			t->gaps[n++] = g;
		else if (last->to < g.to)
			last->to = g.to;
	}
	t->n_gaps = n;
}

int sched_timeline__build(struct sched_timeline *t, struct sched_events *e)
{
	int err = 0;

	t->events = e;
	if (e->n >= NO_EVENT)
		return -ENOMEM;
	for (size_t i = 0; i < e->n && !err; i++)
		err = feed_event(t, i);
	err = err ?: close_tasks(t);
	join_gaps(t);
	return err;
}

void sched_timeline__free(struct sched_timeline *t)
{
	for (size_t i = 0; i < t->n_tasks; i++) {
		free(t->tasks[i].v);
		free(t->tasks[i].samples);
		free(t->tasks[i].reclaims);
		free(t->tasks[i].spins);
	}
	for (size_t i = 0; i < t->n_cpus; i++) {
		free(t->cpus[i].v);
		free(t->cpus[i].irqs);
		free(t->cpus[i].offs);
	}
	free(t->tasks);
	free(t->cpus);
	free(t->gaps);
	*t = (struct sched_timeline){ 0 };
}

const struct task_line *sched_timeline__task(const struct sched_timeline *t, uint32_t tid)
{
	const struct sched_task *task = sched_events__task(t->events, tid);

	return task && task->timeline ? &t->tasks[task->timeline - 1] : NULL;
}

const struct cpu_line *sched_timeline__cpu(const struct sched_timeline *t, uint32_t cpu)
{
	return cpu < t->n_cpus && t->cpus[cpu].n ? &t->cpus[cpu] : NULL;
}

size_t task_line__at(const struct task_line *l, uint64_t time)
{
	return LOWER_BOUND(i, l->n, l->v[i].to <= time);
}

size_t task_line__reclaim_at(const struct task_line *l, uint64_t time)
{
	return LOWER_BOUND(i, l->n_reclaims, l->reclaims[i].to <= time);
}

size_t task_line__spin_at(const struct task_line *l, uint64_t time)
{
	return LOWER_BOUND(i, l->n_spins, l->spins[i].to <= time);
}

size_t cpu_line__at(const struct cpu_line *l, uint64_t time)
{
	return LOWER_BOUND(i, l->n, l->v[i].to <= time);
}

size_t cpu_line__irq_at(const struct cpu_line *l, uint64_t time)
{
	return LOWER_BOUND(i, l->n_irqs, l->irqs[i].to <= time);
}

bool sched_timeline__is_off(const struct sched_timeline *t, uint32_t cpu, uint64_t time)
{
	const struct cpu_line *c = cpu < t->n_cpus ? &t->cpus[cpu] : NULL;
	size_t at = c ? LOWER_BOUND(i, c->n_offs, c->offs[i].to <= time) : 0;

	return c && at < c->n_offs && c->offs[at].from <= time;
}

uint64_t sched_timeline__first_gap(const struct sched_timeline *t, uint64_t from, uint64_t to,
				   uint64_t *ret_end)
{
	size_t i = LOWER_BOUND(j, t->n_gaps, t->gaps[j].to <= from);
	bool found = i < t->n_gaps && t->gaps[i].from < to;

	if (ret_end)
		*ret_end = found && t->gaps[i].to < to ? t->gaps[i].to : to;
	return !found ? to : t->gaps[i].from > from ? t->gaps[i].from : from;
}

uint64_t sched_timeline__lost(const struct sched_timeline *t, uint64_t from, uint64_t to)
{
	size_t i = LOWER_BOUND(j, t->n_gaps, t->gaps[j].to <= from);
	uint64_t lost = 0;

	for (; i < t->n_gaps && from < to; i++) {
		const struct gap *g = &t->gaps[i];
		uint64_t begin = g->from > from ? g->from : from, end = g->to < to ? g->to : to;

		if (g->from >= to)
			break;
		lost += end - begin;
	}
	return lost;
}
