/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who the subject of a trigger is, how it is scheduled and what limits it: what no event tells, read right after the
 * trigger. Everything in it is text that other users may choose: bounded, and for readers to make printable.
 */
#ifndef FRBPF_DUMP_STATE_TASK_STATE_H
#define FRBPF_DUMP_STATE_TASK_STATE_H

#include "dump/state/cgroup_state.h"

/*
 * Of task @tid, which was there at @time (ns, CLOCK_MONOTONIC). Reads only what the kernel answers without a lock
 * of the task's memory. -ESRCH: it has ended, or is another one by now; -ENOMEM.
 */
int task_state__read(const struct cgroup_roots *roots, pid_t tid, uint64_t time, json_t **ret);

/*
 * Its command line, of the same task. May hang as long as a thread of it holds the lock of its memory. -ESRCH;
 * -ENODATA: it has none, as threads of the kernel; -ENOMEM.
 */
int task_state__command(pid_t tid, uint64_t time, json_t **ret);

/* All that may hang, as an object: "command", and "waits_for" as wait_owner__read() has it. As above. */
int task_state__more(pid_t tid, uint64_t time, json_t **ret);

#endif
