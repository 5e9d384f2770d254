/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a task waits now: the system call it is in, its file, the kernel's function, and who owns what
 * it waits for. */
#ifndef FRBPF_DUMP_STATE_WAIT_PLACE_H
#define FRBPF_DUMP_STATE_WAIT_PLACE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "examine/examiner.h"

/*
 * Get what the task @tid, whose /proc/TID is @dir, waits in: {"syscall", "file", "path", "wchan"},
 * owned by the caller; what is unknown is left out. @e looks into the task; it may be NULL. 0;
 * -ENODATA: it runs, or nothing is known; or -ENOMEM.
 */
int wait_place__read(struct examiner *e, pid_t tid, int dir, json_t **ret);

/*
 * ---- the owner ----
 * Finds the owner of what a task waits for now, if the kernel or the C library knows it. A PI futex
 * holds its owner, a glibc mutex has it beside the futex, and /proc/locks has that of a file lock.
 * Owners of other locks are unknown. The task's memory is not trusted: an owner in it counts only
 * if it is a thread of the same process.
 */

/*
 * Get the owner for the task @tid, whose /proc/TID is @dir: {"what", "tid" (not for file locks),
 * "pid", "comm"}, owned by the caller. @e looks into the task; it may be NULL.
 * 0; -ENODATA: it waits for nothing with a known owner; or -ENOMEM.
 */
int wait_owner__read(struct examiner *e, pid_t tid, int dir, json_t **ret);

/*
 * The process that holds the file lock for which process @pid waits, from the text of /proc/locks;
 * 0: unknown.
 */
pid_t wait_owner__of_locks(const char *locks, pid_t pid);

/* ---- the system call that a task is blocked in ---- */

struct task_call {
	long number;
	uint64_t args[2]; /* the first of them */
};

/*
 * Read the call of task @tid, whose /proc/TID is @dir. @e asks, as a task that replaces its program
 * can make this hang. False: it runs, is not in a call, or has ended; or @e is NULL.
 */
bool task_call__read(struct examiner *e, pid_t tid, int dir, struct task_call *ret);

#endif
