/* SPDX-License-Identifier: GPL-2.0-only */
/* The tasks of sched_events, by tid. */
#ifndef FRBPF_ANALYSE_WHY_SCHED_TASKS_H
#define FRBPF_ANALYSE_WHY_SCHED_TASKS_H

#include "analyse/why/sched_events.h"

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
