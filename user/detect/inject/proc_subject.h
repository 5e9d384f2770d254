/* SPDX-License-Identifier: GPL-2.0-only */
/* Fills in the tasks of an event that user space saw, by their numbers, from /proc. */
#ifndef FRBPF_DETECT_PROC_SUBJECT_H
#define FRBPF_DETECT_PROC_SUBJECT_H

#include <stdbool.h>
#include <sys/types.h>

#include "frbpf.h"

enum event_task { EVENT_SUBJECT, EVENT_CURRENT }; /* index of struct frbpf_event.val */

/*
 * Describe thread @tid of our pid namespace in @e: names, pid, tid, ppid, uid, prio and, with
 * @cgroups, the ids of its cgroup (v2) and of those above. For the subject also its times of birth,
 * which distinguish reused numbers, and whether it is one of our processes. 0, or -ESRCH if the
 * thread has ended. Then @e has @tid as its tid, and as its pid if that was 0; the rest stays
 * unchanged, so callers may set what they know before.
 */
int proc_subject__fill(struct frbpf_event *e, enum event_task who, pid_t tid, bool cgroups);

/* Get the CPU that thread @tid last ran on, or -ESRCH. */
int proc_subject__cpu(pid_t tid);

/* Copy the subject to `current`: the subject is the task that ran. */
void proc_subject__set_current(struct frbpf_event *e);

#endif
