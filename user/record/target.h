/* SPDX-License-Identifier: GPL-2.0-only */
/* Whose events a session records. */
#ifndef FRBPF_RECORD_TARGET_H
#define FRBPF_RECORD_TARGET_H

#include <stddef.h>
#include <sys/types.h>

enum record_target_kind {
	RECORD_ALL,    /* every task */
	RECORD_TASKS,  /* these threads, and all that they fork from then on */
	RECORD_CGROUP, /* the tasks of one cgroup (v2) and of those below it */
};

struct record_target {
	enum record_target_kind kind;
	pid_t *tids; /* of RECORD_TASKS; borrowed */
	size_t n_tids;
	pid_t process; /* of RECORD_TASKS: all threads that it has when they are opened, instead */
	int cgroup_fd; /* of RECORD_CGROUP: its directory; borrowed */
};

/* The threads that process @pid has now; *ret is the caller's. -ESRCH: it has ended; -ENOMEM. */
int record_target__threads(pid_t pid, pid_t **ret, size_t *ret_n);

#endif
