// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "analyse/why/why_impl.h"

/* ---- CPU quotas ---- */

/*
 * Was it a CPU quota (cpu.max) that kept a task off its CPU? Since 6.18 a throttled task leaves the
 * CPU on its return to user space. On a preemptible kernel its stack shows that; on others it looks
 * like the end of deferred work. The task runs again after sched_cfs_period_timer() has refilled
 * the quota of its cgroup.
 */

enum quota_sign {
	QUOTA_NO_SIGN,
	QUOTA_MAYBE, /* a quota, or the task was preempted on its return to user space */
	QUOTA_USED_UP,
};

/* Does the stack at the start of span @s show that a quota is used up? */
static enum quota_sign why_quota__sign(const struct why *w, const struct task_span *s)
{
	enum wait_kind kind = WAIT_UNKNOWN;

	if (s->out != NO_EVENT)
		kind = stack_notes__of(&w->notes, s->out)->kind;
	if (kind == WAIT_THROTTLED)
		return QUOTA_USED_UP;
	return kind == WAIT_TASK_WORK && s->to - s->from >= WHY_LONG_NS ? QUOTA_MAYBE
									: QUOTA_NO_SIGN;
}

/* The first event with this timer function: its note has the name. NULL: too many functions. */
static const struct why_timer *timer_of(struct why *w, uint64_t address, uint32_t event)
{
	for (size_t i = 0; i < w->n_timers; i++)
		if (w->timers[i].function == address)
			return &w->timers[i];
	if (w->n_timers == WHY_TIMERS)
		return NULL;
	w->timers[w->n_timers] = (struct why_timer){ address, event };
	return &w->timers[w->n_timers++];
}

/* What the timers within a wait say about quotas */
enum quota_refill {
	REFILL_UNKNOWN, /* they were not recorded, or the names of their functions are unknown */
	REFILL_NONE,	/* no quota was refilled */
	REFILL_SEEN,
};

static enum quota_refill refill_of(struct why *w, uint32_t event)
{
	const struct why_timer *t = timer_of(w, w->events.v[event].value, event);
	const char *name;

	if (!t)
		return REFILL_UNKNOWN;
	if (w->collecting)
		stack_notes__want(&w->notes, t->event);
	name = stack_notes__of(&w->notes, t->event)->leaf;
	if (!name)
		return REFILL_UNKNOWN;
	return !strcmp(name, "sched_cfs_period_timer") || !strcmp(name, "sched_cfs_slack_timer")
		       ? REFILL_SEEN
		       : REFILL_NONE;
}

/*
 * A task may have been throttled at the start of @s. Find the first and the last time within @s
 * that the kernel refilled the quota of any cgroup. Between these times, the task got quota again.
 * Both are set for REFILL_SEEN only.
 */
static enum quota_refill why_quota__refill(struct why *w, const struct task_span *s,
					   uint64_t *ret_first, uint64_t *ret_last)
{
	const struct sched_events *e = &w->events;
	uint64_t first = 0, last = 0;
	bool unknown = false;

	if (!e->recorded[SCHED_TIMER] || s->to - s->from < WHY_LONG_NS)
		return REFILL_UNKNOWN;
	for (size_t i = sched_events__at(e, s->from);
	     i < e->n && e->v[i].time < s->to && why__may_look(w); i++) {
		enum quota_refill r = e->v[i].kind == SCHED_TIMER ? refill_of(w, i) : REFILL_NONE;

		unknown |= r == REFILL_UNKNOWN;
		if (r != REFILL_SEEN)
			continue;
		first = first ?: e->v[i].time;
		last = e->v[i].time;
	}
	if (w->looks_cut)
		return REFILL_UNKNOWN;
	if (!first)
		return unknown || sched_timeline__lost(&w->timeline, s->from, s->to)
			       ? REFILL_UNKNOWN
			       : REFILL_NONE;
	*ret_first = first;
	*ret_last = last;
	return REFILL_SEEN;
}

/* What is known about the quota of @tid from other sources than events */
static enum why_quota why_quota__of(const struct why *w, uint32_t tid)
{
	const struct sched_task *of = sched_events__task(&w->events, w->q.tid),
				*t = sched_events__task(&w->events, tid);

	if (tid == w->q.tid || (of && t && of->pid && of->pid == t->pid))
		return w->q.quota;
	return WHY_QUOTA_UNKNOWN;
}

/* ---- the wait for a CPU ---- */

static uint64_t later_time(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t earlier_time(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The time in which CPU @c had nothing to do, ns */
static uint64_t idle_ns(struct why *w, const struct cpu_line *c, uint64_t from, uint64_t to)
{
	uint64_t ns = 0;

	for (size_t i = cpu_line__at(c, from); i < c->n && c->v[i].from < to && why__may_look(w);
	     i++) {
		uint64_t begin = later_time(c->v[i].from, from), end = earlier_time(c->v[i].to, to);

		if (!c->v[i].tid && begin < end)
			ns += end - begin - why_irq__ns(c, begin, end);
	}
	return ns;
}

/* Add @ns in which @cpu was idle to the time *to_ns of *to_cpu. */
static void note_idle(uint64_t *to_ns, uint32_t *to_cpu, uint64_t ns, uint32_t cpu)
{
	if (!ns)
		return;
	*to_cpu = !*to_ns || *to_cpu == cpu ? cpu : WHY_SEVERAL_CPUS;
	*to_ns += ns;
}

/*
 * Find the CPU that idled longest among those on which @tid may run, and the one that idled longest
 * among all others. Add the idle time of both to @n. CPU @but does not count.
 */
static void idle_elsewhere(struct why *w, struct why_node *n, uint32_t tid, uint32_t but,
			   uint64_t from, uint64_t to)
{
	uint32_t idle_cpu = 0, barred_cpu = 0;
	uint64_t idle = 0, barred = 0;

	for (uint32_t cpu = 0; cpu < w->timeline.n_cpus && cpu < WHY_CPUS; cpu++) {
		const struct cpu_line *c = sched_timeline__cpu(&w->timeline, cpu);
		bool off = sched_timeline__is_off(&w->timeline, cpu, from) ||
			   sched_timeline__is_off(&w->timeline, cpu, to);
		uint64_t ns = c && cpu != but && !off ? idle_ns(w, c, from, to) : 0;
		bool may = why__may_run_on(w, tid, cpu);

		if (ns <= (may ? idle : barred))
			continue;
		*(may ? &idle : &barred) = ns;
		*(may ? &idle_cpu : &barred_cpu) = cpu;
	}
	note_idle(&n->idle_ns, &n->idle_cpu, idle, idle_cpu);
	note_idle(&n->barred_ns, &n->barred_cpu, barred, barred_cpu);
}

static int32_t own_prio(const struct why *w, uint32_t tid, const struct task_span *s)
{
	if (tid == w->q.tid && w->q.idle_policy)
		return WHY_PRIO_IDLE;
	if (s->out != NO_EVENT)
		return w->events.v[s->out].prio;
	return s->wake != NO_EVENT ? w->events.v[s->wake].other_prio : WHY_PRIO_UNKNOWN;
}

/* The queue that a task waits in */
struct queue_place {
	uint32_t cpu;
	uint32_t left; /* 1 + the CPU that it had to leave, because that went offline; 0: none */
};

/*
 * Explain what kept the task of @queued off its CPU from @from to @to: whoever ran in @r, and the
 * interrupts meanwhile. The softirqs of ksoftirqd are its own work.
 */
static int explain_run(struct why *w, const struct why_key *queued, const struct task_span *s,
		       const struct cpu_run *r, uint64_t from, uint64_t to)
{
	const struct why_key irq = { .parent = queued->parent,
				     .tid = queued->tid,
				     .cpu = queued->number + 1 };
	struct why_node *parent = (struct why_node *)queued->parent, *n;
	uint32_t tid = queued->tid, cpu = queued->number;
	struct why_key key = *queued;
	uint64_t irqs;

	if (r->tid == tid)
		return why__add_unknown(w, parent, tid, MISSING_HIDDEN, from, to);
	if (why_irq__explain(w, &irq, sched_timeline__cpu(&w->timeline, cpu),
			     why__is_softirqd(w, r->tid), from, to, &irqs))
		return -ENOMEM;
	if (!r->tid || irqs == to - from)
		return why__add_unknown(w, parent, tid, MISSING_IDLE, from, to - irqs);
	key.who = r->tid;
	key.prio = r->prio;
	key.sender = why_behalf__of(w, r->tid, from);
	n = why_tree__add(w->tree, &key, from, to - from - irqs);
	if (!n)
		return -ENOMEM;
	n->own_prio = own_prio(w, tid, s);
	n->softirq = why_behalf__softirq(w, r->tid, cpu, from, to) ?: n->softirq;
	if (to - from > WHY_LONG_NS)
		idle_elsewhere(w, n, tid, cpu, from, to);
	return 0;
}

/* Explain who ran on the CPU of @q from @from to @to. */
static int explain_on_cpu(struct why *w, struct why_node *parent, uint32_t tid,
			  const struct task_span *s, struct queue_place q, uint64_t from,
			  uint64_t to)
{
	const struct cpu_line *c = sched_timeline__cpu(&w->timeline, q.cpu);
	const struct why_key key = {
		.parent = parent, .tid = tid, .type = WHY_QUEUED, .number = q.cpu, .soft = q.left
	};
	uint64_t at = from;

	for (size_t i = c ? cpu_line__at(c, from) : 0; c && i < c->n && c->v[i].from < to; i++) {
		const struct cpu_run *r = &c->v[i];
		uint64_t begin = later_time(r->from, at), end = earlier_time(r->to, to);

		if (begin >= end)
			continue;
		if (begin > at && why__add_unknown(w, parent, tid, MISSING_CPU, at, begin))
			return -ENOMEM;
		if (explain_run(w, &key, s, r, begin, end))
			return -ENOMEM;
		at = end;
	}
	return at < to ? why__add_unknown(w, parent, tid, MISSING_CPU, at, to) : 0;
}

/*
 * The CPU whose queue the task waits in first. Without events of queues: the CPU that it ran on
 * next.
 */
static uint32_t first_queue(const struct why *w, uint32_t tid, const struct task_span *s)
{
	const struct task_line *l = sched_timeline__task(&w->timeline, tid);
	const bool *recorded = w->events.recorded;

	if (s->out == NO_EVENT && !recorded[SCHED_MIGRATE] && !recorded[SCHED_WAKEUP] &&
	    s + 1 < l->v + l->n && s[1].state == TASK_RUNNING)
		return s[1].cpu;
	return s->cpu;
}

/* Note that the task moves from queue @q to that of @cpu at @time. */
static void queue_move(const struct why *w, struct queue_place *q, uint32_t cpu, uint64_t time)
{
	if (q->cpu != cpu && sched_timeline__is_off(&w->timeline, q->cpu, time))
		q->left = q->cpu + 1;
	q->cpu = cpu;
}

/* The queue in which span @s begins */
static struct queue_place queue_at_begin(struct why *w, uint32_t tid, const struct task_span *s)
{
	const struct task_line *l = sched_timeline__task(&w->timeline, tid);
	struct queue_place q = { .cpu = first_queue(w, tid, s) };
	uint32_t cpu = q.cpu;

	for (const struct task_span *before = s; before > l->v && why__may_look(w); before--) {
		if (before[-1].state != TASK_RUNNING)
			continue;
		q.cpu = before[-1].cpu;
		queue_move(w, &q, cpu, s->from);
		break;
	}
	return q;
}

/* Walks through the queues that a task waits in: it may move to others meanwhile. */
struct queue_walk {
	struct queue_place place, next;
	uint64_t from, to, until; /* ns */
	size_t i;
};

static struct queue_walk queue_walk_begin(struct why *w, uint32_t tid, const struct task_span *s,
					  uint64_t from, uint64_t until)
{
	return (struct queue_walk){ .next = queue_at_begin(w, tid, s),
				    .to = from,
				    .until = until,
				    .i = sched_events__at(&w->events, s->from) };
}

/*
 * Go to the next queue, k->place, and the time in it. False: there is none, or the search was cut
 * off.
 */
static bool queue_walk_next(struct why *w, uint32_t tid, struct queue_walk *k)
{
	const struct sched_events *e = &w->events;

	k->from = k->to;
	k->place = k->next;
	for (; k->i < e->n && e->v[k->i].time < k->until && why__may_look(w); k->i++) {
		const struct sched_event *ev = &e->v[k->i];

		if (ev->other != tid || (ev->kind != SCHED_MIGRATE && ev->kind != SCHED_WAKEUP &&
					 ev->kind != SCHED_NEW))
			continue;
		queue_move(w, &k->next, ev->arg, ev->time);
		if (ev->time > k->from && ev->arg != k->place.cpu) {
			k->to = ev->time;
			k->i++;
			return true;
		}
		k->place = k->next;
	}
	if (k->from >= k->until || w->looks_cut)
		return false;
	k->to = k->until;
	return true;
}

/* The time from @from on in which CPUs were idle while the task was in their queues, ns */
static uint64_t idle_beside(struct why *w, uint32_t tid, const struct task_span *s, uint64_t from)
{
	struct queue_walk k = queue_walk_begin(w, tid, s, from, s->to);
	const struct cpu_line *c;
	uint64_t ns = 0;

	while (queue_walk_next(w, tid, &k)) {
		c = sched_timeline__cpu(&w->timeline, k.place.cpu);
		ns += c ? idle_ns(w, c, k.from, k.to) : 0;
	}
	return ns;
}

/* Was the task kept off a CPU that idled? A quota may do that to a normal task. */
static bool is_kept_off_idle_cpu(struct why *w, uint32_t tid, const struct task_span *s)
{
	const struct sched_task *t = sched_events__task(&w->events, tid);

	return why_quota__of(w, tid) != WHY_QUOTA_NONE && t && t->prio >= 100 &&
	       s->to < w->events.end && s->to - s->from >= WHY_LONG_NS &&
	       idle_beside(w, tid, s, s->from) >= WHY_LONG_NS;
}

static int explain_queued(struct why *w, struct why_node *parent, uint32_t tid,
			  const struct task_span *s, uint64_t from, uint64_t to)
{
	struct queue_walk k = queue_walk_begin(w, tid, s, from, to);

	while (queue_walk_next(w, tid, &k))
		if (explain_on_cpu(w, parent, tid, s, k.place, k.from, k.to))
			return -ENOMEM;
	return why__add_unknown(w, parent, tid, MISSING_LIMIT, k.to, to);
}

static int explain_throttled(struct why *w, struct why_node *parent, uint32_t tid, uint64_t from,
			     uint64_t to)
{
	const struct why_key key = { .parent = parent, .tid = tid, .type = WHY_THROTTLED };

	return from >= to || why_tree__add(w->tree, &key, from, to - from) ? 0 : -ENOMEM;
}

/*
 * A task was throttled at the start of @s. A refill from @first to @last may have been that of its
 * own cgroup, or of another.
 */
static int explain_refilled(struct why *w, struct why_node *parent, uint32_t tid,
			    const struct task_span *s, uint64_t first, uint64_t last, uint64_t from,
			    uint64_t to)
{
	if (explain_throttled(w, parent, tid, from, earlier_time(first, to)) ||
	    why__add_unknown(w, parent, tid, MISSING_QUOTA, later_time(from, first),
			     earlier_time(last, to)))
		return -ENOMEM;
	return last < to ? explain_queued(w, parent, tid, s, later_time(from, last), to) : 0;
}

/*
 * The task was kept off a CPU that idled. If no quota was refilled meanwhile, it was not a quota.
 * It was one if the task has a quota, and did not wait beside an idle CPU after the last refill. If
 * it is unknown whether the task has a quota, the refill may be a coincidence. That its cgroup has
 * used up a quota at some time is no proof: a virtual CPU may also wake up late.
 */
static int explain_kept_off(struct why *w, struct why_node *parent, uint32_t tid,
			    const struct task_span *s, uint64_t from, uint64_t to)
{
	uint64_t first, last;

	switch (why_quota__refill(w, s, &first, &last)) {
	case REFILL_UNKNOWN:
		return why__add_unknown(w, parent, tid, why__limit_or(w, MISSING_QUOTA), from, to);
	case REFILL_SEEN:
		if (idle_beside(w, tid, s, last) >= WHY_LONG_NS || w->looks_cut)
			break;
		if (why_quota__of(w, tid) == WHY_QUOTA_UNKNOWN) /* then the refill may be chance */
			first = s->from;
		return explain_refilled(w, parent, tid, s, first, last, from, to);
	default:
		break;
	}
	return explain_queued(w, parent, tid, s, from, to);
}

/* The stack at the start of the wait shows that the task's quota was, or may have been, used up. */
static int explain_quota(struct why *w, struct why_node *parent, uint32_t tid,
			 const struct task_span *s, enum quota_sign sign, uint64_t from,
			 uint64_t to)
{
	uint64_t first, last;

	if (sign == QUOTA_MAYBE && why_quota__of(w, tid) == WHY_QUOTA_NONE)
		return explain_queued(w, parent, tid, s, from, to);
	if (why_quota__refill(w, s, &first, &last) != REFILL_SEEN) {
		if (sign == QUOTA_MAYBE)
			return why__add_unknown(w, parent, tid, why__limit_or(w, MISSING_QUOTA),
						from, to);
		return explain_throttled(w, parent, tid, from, to);
	}
	return explain_refilled(w, parent, tid, s, first, last, from, to);
}

static int explain_runnable(struct why *w, struct why_node *parent, uint32_t tid,
			    const struct task_span *s, uint64_t from, uint64_t to)
{
	enum quota_sign sign = why_quota__sign(w, s);
	uint64_t first, last;

	if (w->collecting) /* resolve the names of timers: the stack of the task may require them */
		why_quota__refill(w, s, &first, &last);
	if (sign != QUOTA_NO_SIGN)
		return explain_quota(w, parent, tid, s, sign, from, to);
	if (is_kept_off_idle_cpu(w, tid, s))
		return explain_kept_off(w, parent, tid, s, from, to);
	/* before 6.18 no stack shows that a quota is used up */
	if (why_quota__of(w, tid) == WHY_QUOTA_HIDDEN && s->to - s->from >= WHY_LONG_NS &&
	    why_quota__refill(w, s, &first, &last) != REFILL_NONE)
		return why__add_unknown(w, parent, tid, why__limit_or(w, MISSING_QUOTA), from, to);
	return explain_queued(w, parent, tid, s, from, to);
}

/*
 * No event tells when @s ended. Returns the time until which @s certainly lasted. The task was seen
 * on a CPU later, and got there only after the previous task had left.
 */
static uint64_t runnable_until(const struct why *w, uint32_t tid, const struct task_span *s)
{
	const struct task_line *l = sched_timeline__task(&w->timeline, tid);
	const struct cpu_line *c;
	uint64_t until = s->from;
	size_t i;

	if (s + 1 >= l->v + l->n || s[1].state != TASK_RUNNING)
		return s->from;
	c = sched_timeline__cpu(&w->timeline, s[1].cpu);
	i = c ? cpu_line__at(c, s->to - 1) : 0;
	if (c && i < c->n && c->v[i].from > s->from && c->v[i].from < s->to)
		until = c->v[i].from;
	return sched_timeline__first_gap(&w->timeline, s->from, until, NULL);
}

int why_runnable__explain(struct why *w, struct why_node *parent, uint32_t tid,
			  const struct task_span *s, uint64_t from, uint64_t to)
{
	uint64_t known;

	if (!s->end_hidden)
		return explain_runnable(w, parent, tid, s, from, to);
	known = earlier_time(runnable_until(w, tid, s), to);
	if (known > from && explain_queued(w, parent, tid, s, from, known))
		return -ENOMEM;
	return why__add_unknown(w, parent, tid, MISSING_HIDDEN, later_time(from, known), to);
}
