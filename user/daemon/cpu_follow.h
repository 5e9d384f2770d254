/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Follows CPUs that come and go. Sessions, the side band, and detectors that have events on each
 * CPU adapt to them.
 * Life: open; begin when the side band is open but not started; process whenever the descriptor is
 * readable; free after the side band. For one thread; only the comparison of CPUs runs in the side
 * band's thread.
 */
#ifndef FRBPF_DAEMON_CPU_FOLLOW_H
#define FRBPF_DAEMON_CPU_FOLLOW_H

#include <stdbool.h>

#include "common/err.h"
#include "daemon/active_set.h"
#include "dump/rings/horizon.h"
#include "sideband/sideband.h"

struct cpu_follow;

/* 0 or negative errno with a message in @err. */
int cpu_follow__open(struct err *err, struct cpu_follow **ret);
void cpu_follow__free(struct cpu_follow *f); /* NULL is legal */

/*
 * The thread of @sb, which is borrowed, compares the CPUs once a second, in case the kernel does
 * not report a change.
 */
void cpu_follow__begin(struct cpu_follow *f, struct sideband *sb);

/* Readable when CPUs came or went, or to try again; then call cpu_follow__process(). Borrowed. */
int cpu_follow__fd(const struct cpu_follow *f);

/*
 * Open events on new CPUs for the side band and for @sessions. True: CPUs changed; then put the
 * rules in force again, for detectors that have events on each CPU. Failures, and a lack of room in
 * max-memory of @g, the active set in force, are logged and retried every second.
 */
bool cpu_follow__process(struct cpu_follow *f, struct horizon *sessions, struct active_set *g);
/* Log what cpu_follow__process() did. Call it once rules are in force again. */
void cpu_follow__log(const struct cpu_follow *f);

#endif
