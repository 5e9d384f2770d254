/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state of a trigger's subject that no event reports: who it is, how it is scheduled and what
 * limits it. It is read right after the trigger. All text in it may be chosen by other users: its
 * length is limited, and readers must make it printable.
 */
#ifndef FRBPF_DUMP_STATE_TASK_STATE_H
#define FRBPF_DUMP_STATE_TASK_STATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "dump/state/cgroup_state.h"
#include "examine/examiner.h"

/*
 * Read the state of task @tid, which existed at @time (ns, CLOCK_MONOTONIC). Reads only what the
 * kernel returns without the lock of the task's memory. The caller owns *ret. 0; -ESRCH: it has
 * ended, or the tid belongs to another task now; or -ENOMEM.
 */
int task_state__read(const struct cgroup_roots *roots, pid_t tid, uint64_t time, json_t **ret);

/*
 * Read its command line, by @e. Errors as above and as of examiner__read_task(); -ENODATA: it has
 * none, like a kernel thread.
 */
int task_state__command(struct examiner *e, pid_t tid, uint64_t time, json_t **ret);

/*
 * Read what takes longer, as an object: "command", "waits_for" from wait_owner__read() and, if it
 * is @pending, "waits_in": the system call, file and kernel function. @e looks into the task; NULL:
 * what needs it is left out. Errors as above.
 */
int task_state__more(struct examiner *e, pid_t tid, uint64_t time, bool pending, json_t **ret);

/*
 * ---- the owner of what a task waits for now ----
 *
 * Found if the kernel or the C library knows it: a PI futex holds its owner, a glibc mutex has it
 * beside the futex, and /proc/locks has the owners of file locks. Other owners are unknown. The
 * task's memory is not trusted: an owner found there must be a thread of the same process.
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

#endif
