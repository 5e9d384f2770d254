/* SPDX-License-Identifier: GPL-2.0-only */
/* The set of tasks that a window's samples name. */
#ifndef FRBPF_DUMP_WINDOW_TASK_SET_H
#define FRBPF_DUMP_WINDOW_TASK_SET_H

#include "sideband/sideband.h"

struct task_set {		 /* { 0 } is an empty one */
	struct sideband_task *v; /* owned; sorted and unique after task_set__sort() */
	size_t n, cap;
};

/* Add a task. Repetitions of a recent one are dropped at once. 0 or -ENOMEM. */
int task_set__add(struct task_set *s, uint32_t pid, uint32_t tid);
void task_set__sort(struct task_set *s);
void task_set__free(struct task_set *s);

#endif
