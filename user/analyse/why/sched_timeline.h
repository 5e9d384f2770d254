/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What every task did when: it ran, it was runnable, it was blocked; and who ran on each CPU.
 *
 *	          switch to it                    switch from it, not runnable
 *	RUNNABLE ────────────► RUNNING ──────────────────────────► BLOCKED
 *	    ▲                     │ switch from it, runnable           │
 *	    ├─────────────────────┘                                    │
 *	    └──────────────────────────────────────────────────────────┘ waking
 *
 * UNSEEN is what no event tells. Life: build from sorted events, look, free.
 */
#ifndef FRBPF_ANALYSE_WHY_SCHED_TIMELINE_H
#define FRBPF_ANALYSE_WHY_SCHED_TIMELINE_H

#include "analyse/why/sched_events.h"

enum task_state { TASK_UNSEEN, TASK_RUNNING, TASK_RUNNABLE, TASK_BLOCKED };

#define NO_EVENT UINT32_MAX

struct task_span {
	uint64_t from, to; /* ns */
	uint32_t cpu;	   /* where it ran, or ran last */
	uint32_t out;	   /* event: the switch that ended its run before; NO_EVENT: not seen */
	uint32_t wake;	   /* event: what ended a BLOCKED, began a RUNNABLE; NO_EVENT: not seen */
	uint8_t state;	   /* enum task_state */
	bool end_hidden; /* its end lies somewhere in it: the task ran again before its next sign */
};

/* It searched for memory. */
struct reclaim_run {
	uint64_t from, to; /* ns */
	bool cgroup;	   /* at its cgroup's limit */
};

struct task_line {
	struct task_span *v; /* by time, without holes; owned */
	size_t n, cap;
	struct reclaim_run *reclaims; /* by time; owned */
	size_t n_reclaims, reclaims_cap;
	struct reclaim_run open; /* from 0 is none */
	uint32_t *samples;	 /* events: its samples; owned */
	size_t n_samples, samples_cap;
};

struct cpu_run {
	uint64_t from, to;
	uint32_t tid; /* 0: idle */
	int32_t prio;
	bool known; /* false: who ran is not told */
};

/* An interrupt or softirq. */
struct irq_run {
	uint64_t from, to;
	uint32_t number;
	bool soft;
};

struct cpu_line {
	struct cpu_run *v; /* by time; owned */
	size_t n, cap;
	struct irq_run *irqs; /* by time, the outermost; owned */
	size_t n_irqs, irqs_cap;
	struct irq_run open[2]; /* hard, soft: from 0 is none */
};

/* Records were lost in it. */
struct gap {
	uint64_t from, to;
};

struct sched_timeline {
	const struct sched_events *events; /* borrowed */
	struct task_line *tasks;	   /* owned */
	size_t n_tasks, tasks_cap;
	struct cpu_line *cpus; /* by number; owned */
	size_t n_cpus;
	struct gap *gaps; /* by time, none beside another; owned */
	size_t n_gaps, gaps_cap;
};

/* @e is sorted. 0 or -ENOMEM. */
int sched_timeline__build(struct sched_timeline *t, struct sched_events *e);
void sched_timeline__free(struct sched_timeline *t);

/* NULL: no event is of it. */
const struct task_line *sched_timeline__task(const struct sched_timeline *t, uint32_t tid);
/* NULL: no event is of it. */
const struct cpu_line *sched_timeline__cpu(const struct sched_timeline *t, uint32_t cpu);
/* The first span, run or interrupt that ends after @time. */
size_t task_line__at(const struct task_line *l, uint64_t time);
size_t task_line__reclaim_at(const struct task_line *l, uint64_t time);
size_t cpu_line__at(const struct cpu_line *l, uint64_t time);
size_t cpu_line__irq_at(const struct cpu_line *l, uint64_t time);
/* How much of the time lies in gaps, ns. */
uint64_t sched_timeline__lost(const struct sched_timeline *t, uint64_t from, uint64_t to);

#endif
