/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tasks of a run, for sessions and rules. Sessions have perf events of these threads, which
 * their children inherit, or of the cgroup. Rules are confined to tasks in the scope map, which
 * children enter at fork, or to the same cgroup.
 */
#ifndef FRBPF_RUN_RUN_TARGET_H
#define FRBPF_RUN_RUN_TARGET_H

#include <limits.h>

#include "detect/detectors.h"
#include "record/record_target.h"
#include "run/run.h"

struct run_target {
	enum run_scope scope;
	pid_t pid; /* for RUN_TREE and RUN_PID */
	int pidfd; /* for RUN_PID: readable when the process has ended; otherwise -1 */
	char cgroup[PATH_MAX];
	uint64_t cgroup_id;
	struct record_target record; /* the memory it points to is owned */
};

/*
 * Look up what @opts name. -EINVAL or an errno of the look-up, message in @err. Free it also on
 * failure.
 */
int run_target__find(const struct run_opts *opts, struct err *err, struct run_target *ret);
/* Set the command, after it was forked. */
int run_target__set_command(struct run_target *t, pid_t pid, struct err *err);
/* Confine the rules to the target. Call before the first update. */
int run_target__confine(const struct run_target *t, struct detectors *d, struct err *err);
void run_target__free(struct run_target *t);

#endif
