/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A tree of processes that the rules are about: those that are added, and all that they fork from
 * then on. Private to detect/, see detectors__confine_to_tasks().
 */
#ifndef FRBPF_DETECT_SCOPE_H
#define FRBPF_DETECT_SCOPE_H

#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

struct scope;

/* Load and attach: from now on the children of those that are in are in, too. Nobody is in yet. */
int scope__open(struct err *err, struct scope **ret);
/* The map of those that are in, for the sources; borrowed. */
int scope__map_fd(const struct scope *s);
int scope__keys_fd(const struct scope *s);
/* Add the process @pid with all of its threads. -ESRCH: it has ended. */
int scope__add(struct scope *s, pid_t pid, struct err *err);
/* Tasks that should be in, and for which there was no memory. */
uint64_t scope__missing(const struct scope *s);
void scope__free(struct scope *s);

#endif
