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
	int cgroup_fd; /* of RECORD_CGROUP: its directory; borrowed */
};

#endif
