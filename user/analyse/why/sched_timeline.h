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
 * UNSEEN: no event shows what it did. Life: build from sorted events, look, free.
 */
#ifndef FRBPF_ANALYSE_WHY_SCHED_TIMELINE_H
#define FRBPF_ANALYSE_WHY_SCHED_TIMELINE_H

#include "analyse/why/sched_events.h"

enum task_state { TASK_UNSEEN, TASK_RUNNING, TASK_RUNNABLE, TASK_BLOCKED };

#define NO_EVENT UINT32_MAX

struct task_span {
	uint64_t from, to; /* ns */
	uint32_t cpu;	   /* CPU that it runs on, or ran on last */
	/*
	 * event: the switch that ended its previous run; SCHED_OFF_CPU: that was before the
	 * recording; NO_EVENT: not seen
	 */
	uint32_t out;
	/* event: the wake-up that ended BLOCKED or began RUNNABLE; NO_EVENT: not seen */
	uint32_t wake;
	uint32_t lock; /* BLOCKED: event: the lock that it waits for; NO_EVENT: not recorded */
	uint8_t state; /* enum task_state */
	/*
	 * the state ended at an unknown time before `to`: the task ran again before its next record
	 */
	bool end_hidden;
};

/* Direct reclaim, or compaction, by the task */
struct reclaim_run {
	uint64_t from, to; /* ns */
	/* SCHED_RECLAIM, SCHED_CGROUP_RECLAIM: at the limit of its cgroup; SCHED_COMPACTION */
	enum sched_kind kind;
};

/* The task spun for a lock */
struct spin_run {
	uint64_t from, to; /* ns */
	uint32_t event;
};

struct task_line {
	struct task_span *v; /* by time, without gaps; owned */
	size_t n, cap;
	struct reclaim_run *reclaims; /* by time; owned */
	size_t n_reclaims, reclaims_cap;
	struct reclaim_run open; /* still running; from 0: none */
	struct spin_run *spins;	 /* by time; owned */
	size_t n_spins, spins_cap;
	uint32_t lock;	   /* event: the last lock that it began to wait for, plus 1; 0: none */
	uint32_t *samples; /* indexes of its samples in the events; owned */
	size_t n_samples, samples_cap;
};

struct cpu_run {
	uint64_t from, to;
	uint32_t tid; /* 0: idle */
	int32_t prio;
	bool known; /* false: unknown who ran */
};

/* An interrupt or softirq */
struct irq_run {
	uint64_t from, to;
	const char *handler; /* name, belongs to the events; NULL: unknown */
	uint32_t number;
	bool soft;
};

/* The CPU was offline, or on its way */
struct off_run {
	uint64_t from, to; /* ns */
};

struct cpu_line {
	struct cpu_run *v; /* by time; owned */
	size_t n, cap;
	struct irq_run *irqs; /* by time, without nested ones; owned */
	size_t n_irqs, irqs_cap;
	struct irq_run open[2]; /* still running, hard and soft; from 0: none */
	struct off_run *offs;	/* by time; owned */
	size_t n_offs, offs_cap;
};

/* Records were lost in this time. */
struct gap {
	uint64_t from, to;
};

struct sched_timeline {
	const struct sched_events *events; /* borrowed */
	struct task_line *tasks;	   /* owned */
	size_t n_tasks, tasks_cap;
	struct cpu_line *cpus; /* by number; owned */
	size_t n_cpus;
	struct gap *gaps; /* by time, adjacent ones joined; owned */
	size_t n_gaps, gaps_cap;
};

/* Build from sorted events. 0 or -ENOMEM. */
int sched_timeline__build(struct sched_timeline *t, struct sched_events *e);
void sched_timeline__free(struct sched_timeline *t);

/* NULL: no event of this task */
const struct task_line *sched_timeline__task(const struct sched_timeline *t, uint32_t tid);
/* NULL: no event of this CPU */
const struct cpu_line *sched_timeline__cpu(const struct sched_timeline *t, uint32_t cpu);
/* Was the CPU offline at @time, or on its way? */
bool sched_timeline__is_off(const struct sched_timeline *t, uint32_t cpu, uint64_t time);
/* Index of the first span, run, reclaim, spin or interrupt that ends after @time */
size_t task_line__at(const struct task_line *l, uint64_t time);
size_t task_line__reclaim_at(const struct task_line *l, uint64_t time);
size_t task_line__spin_at(const struct task_line *l, uint64_t time);
size_t cpu_line__at(const struct cpu_line *l, uint64_t time);
size_t cpu_line__irq_at(const struct cpu_line *l, uint64_t time);
/*
 * The start of the first gap between @from and @to, and its end in *ret_end, @to at most. If there
 * is no gap, both are @to. @ret_end may be NULL.
 */
uint64_t sched_timeline__first_gap(const struct sched_timeline *t, uint64_t from, uint64_t to,
				   uint64_t *ret_end);
/* How much of the time lies in gaps, ns */
uint64_t sched_timeline__lost(const struct sched_timeline *t, uint64_t from, uint64_t to);

#endif
