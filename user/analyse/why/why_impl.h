/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the parts of why. why.c answers the question, and why_tree.c keeps the tree. The others
 * explain: why_running.c, time on a CPU; why_irq.c, interrupts; why_runnable.c, waits for a CPU and
 * CPU quotas; why_device.c, waits for a device; why_behalf.c, for whom threads of the kernel work.
 */
#ifndef FRBPF_ANALYSE_WHY_WHY_IMPL_H
#define FRBPF_ANALYSE_WHY_WHY_IMPL_H

#include "analyse/why/why.h"

#define WHY_LONG_NS 1000000 /* shorter waits are not checked for idle CPUs or quotas */
#define WHY_TIMERS  256	    /* functions of timers that are told apart */

/* The function of a kernel timer */
struct why_timer {
	uint64_t function; /* address */
	uint32_t event;	   /* whose note has the name of the function */
};

struct why {
	struct why_question q;
	struct why_timer timers[WHY_TIMERS];
	size_t n_timers;
	uint32_t looks, looks_max; /* events looked at in this round, see why__may_look() */
	bool looks_cut;		   /* more events than that were needed */
	bool stacks_cut;	   /* the same in the first round: stacks may not have been read */
	struct sched_events events;
	struct sched_timeline timeline;
	struct stack_notes notes;
	struct why_tree *tree;
	struct why_node *root;	      /* belongs to tree */
	bool collecting;	      /* first round: it only finds out which stacks are needed */
	uint32_t path[WHY_DEPTH + 1]; /* tids, the subject first */
};

/* ---- why_tree.c ---- */
int why_tree__new(struct why_tree **ret);
void why_tree__free(struct why_tree *t);
/* Find or add the node of @key, and add @ns to it. NULL: out of memory, or more than WHY_NODES. */
struct why_node *why_tree__add(struct why_tree *t, const struct why_key *key, uint64_t time,
			       uint64_t ns);
/* Sort all children and functions, the largest first. */
void why_tree__sort(struct why_node *n);

/* Add WHY_UNKNOWN for @missing below @parent, from @from to @to. 0 or -ENOMEM. */
int why__add_unknown(struct why *w, struct why_node *parent, uint32_t tid, enum why_missing missing,
		     uint64_t from, uint64_t to);

/* May one more event be looked at? Bounds the time for a question, whatever is recorded. */
bool why__may_look(struct why *w);
/* What is missing after a search: MISSING_LIMIT if the search was cut off, otherwise @missing */
enum why_missing why__limit_or(const struct why *w, enum why_missing missing);
/* Explain below @parent what @tid did from @from to @to. 0 or -ENOMEM. */
int why__explain_task(struct why *w, struct why_node *parent, uint32_t tid, uint64_t from,
		      uint64_t to, size_t depth);

/* The owner in @lock, a SCHED_LOCK; 0: unknown. */
uint32_t why__lock_owner(const struct why *w, const struct sched_event *lock);

/* ---- why_running.c ---- */
/* Explain what @tid did on a CPU in span @s, from @from to @to. 0 or -ENOMEM. */
int why_running__explain(struct why *w, struct why_node *parent, uint32_t tid,
			 const struct task_line *l, const struct task_span *s, uint64_t from,
			 uint64_t to);

/* ---- why_irq.c ---- */
/* The time of interrupts on a CPU, ns; 0 if @c is NULL. */
uint64_t why_irq__ns(const struct cpu_line *c, uint64_t from, uint64_t to);
/*
 * Add each interrupt on @c, with parent, tid and cpu of @in. @but_softirqs: leave out softirqs.
 * *ret is the sum of the times added, ns. 0 or -ENOMEM.
 */
int why_irq__explain(struct why *w, const struct why_key *in, const struct cpu_line *c,
		     bool but_softirqs, uint64_t from, uint64_t to, uint64_t *ret);

/* ---- why_device.c ---- */
/*
 * Explain wait @n of @tid, which a completed request ended by wake-up @wake: for whom the device
 * worked. 0 or -ENOMEM.
 */
int why_device__explain(struct why *w, struct why_node *n, uint32_t tid, uint32_t wake,
			uint64_t from, uint64_t to, size_t depth);

/* ---- why_behalf.c ---- */
/*
 * For whom does @tid, which runs at @time, work, if it is a kernel thread that does work of others?
 * Returns the tid of that task; 0: it is no such thread, or that was not recorded.
 */
uint32_t why_behalf__of(struct why *w, uint32_t tid, uint64_t time);
/* If @tid is ksoftirqd: 1 + the softirq that it ran for the longest time; 0: unknown */
uint32_t why_behalf__softirq(const struct why *w, uint32_t tid, uint32_t cpu, uint64_t from,
			     uint64_t to);

/* ---- why_runnable.c ---- */
/* Explain why @tid, runnable in span @s, did not run from @from to @to. 0 or -ENOMEM. */
int why_runnable__explain(struct why *w, struct why_node *parent, uint32_t tid,
			  const struct task_span *s, uint64_t from, uint64_t to);

#endif
