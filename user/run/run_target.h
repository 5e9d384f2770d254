/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whom a run is about, for the two halves of a recording: sessions (perf events of these threads or
 * of this cgroup, which the kernel hands on at fork) and rules (tasks marked in BPF, which hands the
 * mark on at fork, or the same cgroup).
 */
#ifndef FRBPF_RUN_RUN_TARGET_H
#define FRBPF_RUN_RUN_TARGET_H

#include <limits.h>

#include "detect/detectors.h"
#include "record/record_target.h"
#include "run/run_opts.h"

struct run_target {
	enum run_scope scope;
	pid_t pid; /* of RUN_TREE and RUN_PID */
	int pidfd; /* of RUN_PID: readable when it has ended; -1 */
	char cgroup[PATH_MAX];
	uint64_t cgroup_id;
	struct record_target record; /* what it points to is owned */
};

/* Look at what @opts name. -EINVAL or the errno of looking, with words. Free it also then. */
int run_target__find(const struct run_opts *opts, struct err *err, struct run_target *ret);
/* The command, which has been forked by now. */
int run_target__set_command(struct run_target *t, pid_t pid, struct err *err);
/* Confine the rules to it; before the first update. */
int run_target__confine(const struct run_target *t, struct detectors *d, struct err *err);
void run_target__free(struct run_target *t);

#endif
