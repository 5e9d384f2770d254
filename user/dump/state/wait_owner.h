/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the owner of what a task waits for now, if the kernel or the C library knows it. A PI futex
 * holds its owner, a glibc mutex has it beside the futex, and /proc/locks has the owners of file
 * locks. Other owners are unknown. The task's memory is not trusted: an owner found there must be a
 * thread of the same process.
 */
#ifndef FRBPF_DUMP_STATE_WAIT_OWNER_H
#define FRBPF_DUMP_STATE_WAIT_OWNER_H

#include <jansson.h>
#include <sys/types.h>

#include "examine/examiner.h"

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

#endif
