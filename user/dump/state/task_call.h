/* SPDX-License-Identifier: GPL-2.0-only */
/* The system call that a task is blocked in. */
#ifndef FRBPF_DUMP_STATE_TASK_CALL_H
#define FRBPF_DUMP_STATE_TASK_CALL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "examine/examiner.h"

struct task_call {
	long number;
	uint64_t args[2]; /* the first of them */
};

/*
 * Read the call of task @tid, whose /proc/TID is @dir. @e reads it, since a task in exec can block
 * the reader. False: the task runs, is not in a call, or has ended; or @e is NULL.
 */
bool task_call__read(struct examiner *e, pid_t tid, int dir, struct task_call *ret);

#endif
