/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scope: a tree of processes that the rules are confined to. It has the processes that were
 * added, and all that they fork later. Private to detect/: see detectors__confine_to_tasks().
 */
#ifndef FRBPF_DETECT_SCOPE_H
#define FRBPF_DETECT_SCOPE_H

#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

struct scope;

/* Load and attach. The scope is empty at first; from now on, children of its tasks are added. */
int scope__open(struct err *err, struct scope **ret);
/* The maps of the tasks in the scope, for the sources: task storage, and by key; owned by @s. */
int scope__map_fd(const struct scope *s);
int scope__keys_fd(const struct scope *s);
/* Add the process @pid with all of its threads. -ESRCH: it has ended. */
int scope__add(struct scope *s, pid_t pid, struct err *err);
/* The number of tasks that are missing in the scope because there was no memory or no room. */
uint64_t scope__missing(const struct scope *s);
void scope__free(struct scope *s);

#endif
