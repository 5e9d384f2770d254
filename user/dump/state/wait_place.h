/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a task waits now: system call, file, function of the kernel. */
#ifndef FRBPF_DUMP_STATE_WAIT_PLACE_H
#define FRBPF_DUMP_STATE_WAIT_PLACE_H

#include <jansson.h>
#include <sys/types.h>

#include "examine/examiner.h"

/*
 * Get what the task @tid, whose /proc/TID is @dir, waits in: {"syscall", "file", "path", "wchan"},
 * owned by the caller; what is unknown is left out. @e looks into the task; it may be NULL. 0;
 * -ENODATA: it runs, or nothing is known; or -ENOMEM.
 */
int wait_place__read(struct examiner *e, pid_t tid, int dir, json_t **ret);

#endif
