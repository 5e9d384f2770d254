/* SPDX-License-Identifier: GPL-2.0-only */
/* The tasks, CPUs and times that a session records. */
#ifndef FRBPF_RECORD_RECORD_TARGET_H
#define FRBPF_RECORD_RECORD_TARGET_H

#include <stddef.h>
#include <sys/types.h>

#include "record/record_opts.h"

enum record_target_kind {
	RECORD_ALL,    /* every task */
	RECORD_TASKS,  /* these threads, and all that they fork later */
	RECORD_CGROUP, /* the tasks of one cgroup (v2) and of those below it */
};

struct record_target {
	enum record_target_kind kind;
	pid_t *tids; /* for RECORD_TASKS; borrowed */
	size_t n_tids;
	/* for RECORD_TASKS, instead of tids: all threads of these processes at open; borrowed */
	pid_t *processes;
	size_t n_processes;
	uid_t uid; /* if of_user, instead of tids: all threads of this user at open */
	bool of_user;
	int cgroup_fd; /* for RECORD_CGROUP: its directory; borrowed */
	int *cpus;     /* ascending; NULL: all that are online; borrowed */
	size_t n_cpus;
	const struct delay_range *delay; /* record in these ranges only; none: always; borrowed */
	size_t n_delay;
};

/*
 * Make the target that a line names. Threads are not looked up. A CPU that is offline, or an
 * unknown user, is an error. 0, -EINVAL (see @d) or -ENOMEM. *ret owns all that it points to, so @o
 * may be freed; call record_target__release().
 */
int record_target__make(const struct record_opts *o, const struct source_text *src, struct diags *d,
			struct record_target *ret);
void record_target__release(struct record_target *t);

/*
 * Check that the tasks and cgroups of the line exist at this moment: an error at each that does
 * not. 0, -EINVAL (see @d) or -ENOMEM.
 */
int record_target__check_exists(const struct record_opts *o, const struct record_target *t,
				const struct source_text *src, struct diags *d);

/* Are the threads of @t determined only when the session is opened? */
bool record_target__is_open(const struct record_target *t);

/*
 * Get the current threads of a target that record_target__is_open(). The caller owns *ret. 0;
 * -ESRCH: a process has ended, or the user has no task; -ENOMEM.
 */
int record_target__threads(const struct record_target *t, pid_t **ret, size_t *ret_n);

#endif
