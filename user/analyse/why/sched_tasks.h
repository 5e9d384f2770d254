/* SPDX-License-Identifier: GPL-2.0-only */
/* The tasks that events name, by tid. */
#ifndef FRBPF_ANALYSE_WHY_SCHED_TASKS_H
#define FRBPF_ANALYSE_WHY_SCHED_TASKS_H

#include <stddef.h>
#include <stdint.h>

#define SCHED_COMM 16 /* bytes */

/* A task that some event names */
struct sched_task {
	uint32_t tid;	  /* as the kernel counts them */
	uint32_t own_tid; /* in the recorder's pid namespace; usually the same */
	uint32_t pid;	  /* its process; 0: unknown */
	int32_t prio;	  /* the last reported; INT32_MIN: none */
	char comm[SCHED_COMM];
	size_t timeline; /* used by sched_timeline.c */
};

struct sched_tasks;

int sched_tasks__new(struct sched_tasks **ret); /* -ENOMEM */
void sched_tasks__free(struct sched_tasks *t);	/* NULL is legal */

/* Find or add; NULL: out of memory. The task keeps its address. */
struct sched_task *sched_tasks__get(struct sched_tasks *t, uint32_t tid);
/* Find only. NULL: there is none. */
struct sched_task *sched_tasks__find(const struct sched_tasks *t, uint32_t tid);
struct sched_task *sched_tasks__find_own(const struct sched_tasks *t, uint32_t own_tid);
/* Set the tid in the recorder's namespace, and the process. 0 or -ENOMEM. */
int sched_tasks__set_own(struct sched_tasks *t, struct sched_task *task, uint32_t own_tid,
			 uint32_t pid);

#endif
