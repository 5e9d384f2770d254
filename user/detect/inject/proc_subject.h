/* SPDX-License-Identifier: GPL-2.0-only */
/* The tasks of an event that user space saw, by their numbers, as /proc knows them. */
#ifndef FRBPF_DETECT_PROC_SUBJECT_H
#define FRBPF_DETECT_PROC_SUBJECT_H

#include <stdbool.h>
#include <sys/types.h>

#include "frbpf.h"

enum event_task { EVENT_SUBJECT, EVENT_CURRENT }; /* index of struct frbpf_event.val */

/*
 * Put thread @tid, numbered in our pid namespace, into @e: names, pid, tid, ppid, uid, prio and,
 * when @cgroups, the ids of its cgroup (v2) and of those above it. Of the subject also what tells
 * it from others of its number, and whether it is one of our own. Returns 0, or -ESRCH when it has
 * gone: then tid, and pid if the event has none, are as given and all else stays as it was, so what
 * is known otherwise may be set before.
 */
int proc_subject__fill(struct frbpf_event *e, enum event_task who, pid_t tid, bool cgroups);

/* The CPU that thread @tid ran on last, or -ESRCH. */
int proc_subject__cpu(pid_t tid);

/* The subject is the task that ran: current becomes the same. */
void proc_subject__is_current(struct frbpf_event *e);

#endif
