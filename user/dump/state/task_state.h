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
 * Read the task's command line through @e. Errors as above and as for examiner__read_task();
 * -ENODATA: it has none, like a kernel thread.
 */
int task_state__command(struct examiner *e, pid_t tid, uint64_t time, json_t **ret);

/*
 * Read what takes longer, as an object: "command", "waits_for" from wait_owner__read() and, if it
 * is @pending, "waits_in": the system call, file and kernel function. @e looks into the task; if it
 * is NULL, what needs it is left out. Errors as above.
 */
int task_state__more(struct examiner *e, pid_t tid, uint64_t time, bool pending, json_t **ret);

#endif
