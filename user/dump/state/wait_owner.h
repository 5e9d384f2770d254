/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who owns what a task waits for at this moment, as far as the kernel or the C library keeps that: a PI futex has its owner in
 * it, a mutex of glibc beside it, and /proc/locks knows who has a file lock. Who has another lock is not known. All that the
 * task's memory says is its own word, and only believed where it names a thread of the same process.
 */
#ifndef FRBPF_DUMP_STATE_WAIT_OWNER_H
#define FRBPF_DUMP_STATE_WAIT_OWNER_H

#include <jansson.h>
#include <sys/types.h>

/*
 * Of the task whose /proc/TID is @dir: {"what", "tid" (of a file lock absent), "pid", "comm"}. May hang as long as a thread of it holds the
 * lock of its memory. -ENODATA: it does not wait for anything that has a known owner; -ENOMEM.
 */
int wait_owner__read(int dir, json_t **ret);

/* The process that has what process @pid waits for, by the text of /proc/locks; 0: nobody is known. */
pid_t wait_owner__of_locks(const char *locks, pid_t pid);

#endif
