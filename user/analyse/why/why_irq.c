// SPDX-License-Identifier: GPL-2.0-only
/* Explains time that interrupts and softirqs took on a CPU, from whoever was there. */
#include <errno.h>
#include <string.h>

#include "analyse/why/why_impl.h"

#define SOFTIRQ_WORKER "ksoftirqd/"

bool why__is_softirqd(const struct why *w, uint32_t tid)
{
	const struct sched_task *t = sched_events__task(&w->events, tid);

	return t && !strncmp(t->comm, SOFTIRQ_WORKER, strlen(SOFTIRQ_WORKER));
}

uint64_t why_irq__ns(const struct cpu_line *c, uint64_t from, uint64_t to)
{
	uint64_t sum = 0;

	for (size_t i = c ? cpu_line__irq_at(c, from) : 0; c && i < c->n_irqs; i++) {
		const struct irq_run *r = &c->irqs[i];

		if (r->from >= to)
			break;
		sum += (r->to < to ? r->to : to) - (r->from > from ? r->from : from);
	}
	return sum;
}

int why_irq__explain(struct why *w, const struct why_key *in, const struct cpu_line *c,
		     bool but_softirqs, uint64_t from, uint64_t to, uint64_t *ret)
{
	struct why_key key = *in;
	uint64_t sum = 0;

	key.type = WHY_INTERRUPTED;
	for (size_t i = c ? cpu_line__irq_at(c, from) : 0; c && i < c->n_irqs; i++) {
		const struct irq_run *r = &c->irqs[i];
		uint64_t begin = r->from > from ? r->from : from, end = r->to < to ? r->to : to;

		if (begin >= end)
			break;
		if (but_softirqs && r->soft)
			continue;
		key.number = r->number;
		key.handler = r->soft ? NULL : r->handler;
		key.soft = r->soft;
		if (!why_tree__add(w->tree, &key, begin, end - begin))
			return -ENOMEM;
		sum += end - begin;
	}
	*ret = sum;
	return 0;
}
