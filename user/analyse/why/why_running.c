// SPDX-License-Identifier: GPL-2.0-only
/*
 * Explains what a task did on a CPU: it computed, reclaimed memory, spun for a lock, or was
 * interrupted.
 */
#include <errno.h>
#include <string.h>

#include "analyse/why/why_impl.h"
#include "common/array.h"

#define SPIN_RUNS    1000 /* further runs of a CPU are not looked at */
#define SPIN_PERCENT 90	  /* least share that an owner runs; events show its start late */

static bool is_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static void function_count(struct why_node *n, const char *name, const char *call)
{
	struct why_function *f = n->functions, *least = f;

	n->samples++;
	for (size_t i = 0; i < WHY_FUNCTIONS; i++) {
		if (!f[i].name || (!strcmp(f[i].name, name) && is_text(f[i].call, call))) {
			f[i].name = name;
			f[i].call = call;
			f[i].samples++;
			return;
		}
		if (f[i].samples < least->samples)
			least = &f[i];
	}
	/* the rarest is replaced (Metwally's Space-Saving algorithm) */
	least->name = name;
	least->call = call;
	least->samples++;
}

/* Index of its first sample at or after @time */
static size_t sample_at(const struct why *w, const struct task_line *l, uint64_t time)
{
	return LOWER_BOUND(i, l->n_samples, w->events.v[l->samples[i]].time < time);
}

/* Count the functions in its samples. */
static void count_samples(struct why *w, struct why_node *n, const struct task_line *l,
			  uint64_t from, uint64_t to)
{
	for (size_t i = sample_at(w, l, from);
	     i < l->n_samples && w->events.v[l->samples[i]].time < to; i++) {
		const struct stack_note *note = stack_notes__of(&w->notes, l->samples[i]);

		if (!note->spins && (note->function || note->leaf))
			function_count(n, note->function ?: note->leaf, note->call);
	}
}

/* ---- locks of the kernel: a waiter spins while the owner runs */

/*
 * Number of samples in which the task spins, out of *ret_n; *ret_note is the note of one of them.
 */
static size_t spinning_samples(struct why *w, const struct task_line *l, uint64_t from, uint64_t to,
			       size_t *ret_n, const struct stack_note **ret_note)
{
	size_t n = 0, all = 0;

	for (size_t i = sample_at(w, l, from);
	     i < l->n_samples && w->events.v[l->samples[i]].time < to; i++) {
		const struct stack_note *note;

		stack_notes__want(&w->notes, l->samples[i]);
		note = stack_notes__of(&w->notes, l->samples[i]);
		all++;
		if (!note->spins)
			continue;
		n++;
		*ret_note = note;
	}
	*ret_n = all;
	return n;
}

/* Find the task that ran longest on @c. Returns its time, ns. */
static uint64_t longest_on(struct why *w, const struct cpu_line *c, uint64_t from, uint64_t to,
			   uint32_t *ret_tid)
{
	uint64_t best = 0, ns;

	for (size_t i = cpu_line__at(c, from); i < c->n && c->v[i].from < to; i++) {
		ns = 0;
		for (size_t k = i;
		     k < c->n && k - i < SPIN_RUNS && c->v[k].from < to && why__may_look(w); k++)
			if (c->v[k].tid == c->v[i].tid)
				ns += (c->v[k].to < to ? c->v[k].to : to) -
				      (c->v[k].from > from ? c->v[k].from : from);
		if (ns <= best)
			continue;
		best = ns;
		*ret_tid = c->v[i].tid;
		if (ns > (to - from) / 2)
			break;
	}
	return best;
}

/*
 * Find the owner: the only other task that ran all the time, as a waiter spins only while the owner
 * runs. 0: there is none, or several.
 */
static uint32_t spin_owner(struct why *w, uint32_t cpu, uint64_t from, uint64_t to)
{
	uint32_t owner = 0;

	for (uint32_t i = 0; i < w->timeline.n_cpus && why__may_look(w); i++) {
		const struct cpu_line *c = sched_timeline__cpu(&w->timeline, i);
		uint32_t tid = 0;

		if (!c || i == cpu ||
		    longest_on(w, c, from, to, &tid) < (to - from) / 100 * SPIN_PERCENT || !tid)
			continue;
		if (owner)
			return 0;
		owner = tid;
	}
	return w->looks_cut ? 0 : owner;
}

/* Add the recorded times in which the task spun, at most @most ns; *ret is the sum. */
static int explain_spins(struct why *w, struct why_node *parent, uint32_t tid,
			 const struct task_line *l, const struct task_span *s, uint64_t from,
			 uint64_t to, uint64_t most, uint64_t *ret)
{
	uint64_t sum = 0, ns;

	for (size_t i = task_line__spin_at(l, from); i < l->n_spins && l->spins[i].from < to; i++) {
		const struct spin_run *r = &l->spins[i];
		uint64_t begin = r->from > from ? r->from : from, end = r->to < to ? r->to : to;
		const struct stack_note *note;
		struct why_key key = { .parent = parent, .tid = tid, .type = WHY_SPUN };

		ns = begin < end ? end - begin : 0;
		ns = ns < most - sum ? ns : most - sum;
		if (!ns)
			continue;
		stack_notes__want(&w->notes, r->event);
		note = stack_notes__of(&w->notes, r->event);
		key.number = w->events.v[r->event].arg;
		key.kind = wait_kind__with_lock(note->kind, key.number);
		key.function = note->function;
		key.call = note->call;
		key.who = why__lock_owner(w, &w->events.v[r->event]);
		key.soft = !key.who;
		key.who = key.who ?: spin_owner(w, s->cpu, begin, end);
		if (!why_tree__add(w->tree, &key, begin, ns))
			return -ENOMEM;
		sum += ns;
		from = end;
	}
	*ret = sum;
	return 0;
}

/* Add the part of @ns in which the task spun, estimated from samples; *ret is that time. */
static int explain_spinning(struct why *w, struct why_node *parent, uint32_t tid,
			    const struct task_line *l, const struct task_span *s, uint64_t from,
			    uint64_t to, uint64_t ns, uint64_t *ret)
{
	const struct stack_note *note = NULL;
	size_t all, n = spinning_samples(w, l, from, to, &all, &note);
	struct why_key key = { .parent = parent, .tid = tid, .type = WHY_SPUN };

	*ret = 0;
	if (n <= all / 2)
		return 0;
	key.function = note->function;
	key.call = note->call;
	key.kind = note->kind;
	key.who = spin_owner(w, s->cpu, from, to);
	key.soft = 1;
	*ret = (uint64_t)((double)ns * n / all);
	return !*ret || why_tree__add(w->tree, &key, from, *ret) ? 0 : -ENOMEM;
}

/* Add the time in reclaim and compaction, without interrupts; *ret is the sum. */
static int explain_reclaim(struct why *w, struct why_node *parent, uint32_t tid,
			   const struct task_line *l, uint32_t cpu, uint64_t from, uint64_t to,
			   uint64_t *ret)
{
	const struct cpu_line *c = sched_timeline__cpu(&w->timeline, cpu);
	struct why_key key = { .parent = parent, .tid = tid };
	uint64_t sum = 0;

	for (size_t i = task_line__reclaim_at(l, from); i < l->n_reclaims; i++) {
		const struct reclaim_run *r = &l->reclaims[i];
		uint64_t begin = r->from > from ? r->from : from, end = r->to < to ? r->to : to, ns;

		if (begin >= end)
			break;
		ns = end - begin - why_irq__ns(c, begin, end);
		key.type = r->kind == SCHED_COMPACTION ? WHY_COMPACTED : WHY_RECLAIM;
		key.soft = r->kind == SCHED_CGROUP_RECLAIM;
		if (ns && !why_tree__add(w->tree, &key, begin, ns))
			return -ENOMEM;
		sum += ns;
	}
	*ret = sum;
	return 0;
}

int why_running__explain(struct why *w, struct why_node *parent, uint32_t tid,
			 const struct task_line *l, const struct task_span *s, uint64_t from,
			 uint64_t to)
{
	const struct why_key key = { .parent = parent,
				     .tid = tid,
				     .type = WHY_RAN,
				     .sender = why_behalf__of(w, tid, from) };
	const struct why_key irq = { .parent = parent, .tid = tid };
	uint64_t lost = sched_timeline__lost(&w->timeline, from, to), left = to - from;
	uint64_t irqs = 0, reclaim = 0, recorded = 0, sampled = 0;
	struct why_node *n;

	if (s->end_hidden)
		return why__add_unknown(w, parent, tid, MISSING_HIDDEN, from, to);
	if (why_irq__explain(w, &irq, sched_timeline__cpu(&w->timeline, s->cpu), false, from, to,
			     &irqs) ||
	    explain_reclaim(w, parent, tid, l, s->cpu, from, to, &reclaim))
		return -ENOMEM;
	left -= irqs + reclaim;
	if (explain_spins(w, parent, tid, l, s, from, to, left, &recorded))
		return -ENOMEM;
	left -= recorded;
	lost = lost < left ? lost : left;
	if (why__add_unknown(w, parent, tid, MISSING_LOST, from, from + lost))
		return -ENOMEM;
	left -= lost;
	if (left && !recorded && explain_spinning(w, parent, tid, l, s, from, to, left, &sampled))
		return -ENOMEM;
	left -= sampled;
	if (!left)
		return 0;
	n = why_tree__add(w->tree, &key, from, left);
	if (!n)
		return -ENOMEM;
	count_samples(w, n, l, from, to);
	return 0;
}
