/* SPDX-License-Identifier: GPL-2.0-only */
/* Whose events a session records, on which CPUs, and when. */
#ifndef FRBPF_RECORD_RECORD_TARGET_H
#define FRBPF_RECORD_RECORD_TARGET_H

#include <stddef.h>
#include <sys/types.h>

#include "record/record_opts.h"

enum record_target_kind {
	RECORD_ALL,    /* every task */
	RECORD_TASKS,  /* these threads, and all that they fork from then on */
	RECORD_CGROUP, /* the tasks of one cgroup (v2) and of those below it */
};

struct record_target {
	enum record_target_kind kind;
	pid_t *tids; /* of RECORD_TASKS; borrowed */
	size_t n_tids;
	/* of RECORD_TASKS, instead: all threads that these have when they are opened; borrowed */
	pid_t *processes;
	size_t n_processes;
	uid_t uid; /* with of_user, instead: all threads that this user has then */
	bool of_user;
	int cgroup_fd; /* of RECORD_CGROUP: its directory; borrowed */
	int *cpus;     /* ascending; NULL: all that are on line; borrowed */
	size_t n_cpus;
	const struct delay_range *delay; /* recorded in these only; none: always; borrowed */
	size_t n_delay;
};

/* What a line says of it. Threads are not looked at; a CPU that is not on line and a user that does
 * not exist are errors. 0, -EINVAL (see @d) or -ENOMEM. All that *ret points to is its own:
 * record_target__release(). @o may be freed. */
int record_target__make(const struct record_opts *o, const struct source_text *src, struct diags *d,
			struct record_target *ret);
void record_target__release(struct record_target *t);

/* Is it known only when it is opened which threads they are? */
bool record_target__is_open(const struct record_target *t);

/* The threads that an open target has now; *ret is the caller's. -ESRCH: a process has ended, or the
 * user has no task; -ENOMEM. */
int record_target__threads(const struct record_target *t, pid_t **ret, size_t *ret_n);

#endif
