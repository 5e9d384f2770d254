/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a task waits now: the system call it is in, its file, and the kernel's function. */
#ifndef FRBPF_DUMP_STATE_WAIT_PLACE_H
#define FRBPF_DUMP_STATE_WAIT_PLACE_H

#include <jansson.h>

/*
 * Get what the task whose /proc/TID is @dir waits in: {"syscall", "file", "wchan"}, owned by the
 * caller; what is unknown is left out. May hang as long as the task replaces its program. 0;
 * -ENODATA: it runs, or nothing is known; or -ENOMEM.
 */
int wait_place__read(int dir, json_t **ret);

#endif
