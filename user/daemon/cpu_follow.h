/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Everything that has events on every CPU follows CPUs that come and go: sessions, the side band, and
 * detectors of which each CPU has its own events. Life: open, begin once the side band is open and
 * not started, process as often as the descriptor is readable, free after the side band.
 */
#ifndef FRBPF_DAEMON_CPU_FOLLOW_H
#define FRBPF_DAEMON_CPU_FOLLOW_H

#include <stdbool.h>

#include "daemon/active_set.h"
#include "dump/rings/horizon.h"
#include "sideband/sideband.h"

struct cpu_follow;

int cpu_follow__open(struct err *err, struct cpu_follow **ret);
/* @sb, borrowed, looks once a second whether CPUs have changed, should the kernel not tell. */
void cpu_follow__begin(struct cpu_follow *f, struct sideband *sb);
int cpu_follow__fd(const struct cpu_follow *f);
/* True: CPUs changed; rules must be put in force once more, for detectors with events of their own.
 * What @g, in force, leaves no memory for is logged, as what fails, and tried again every second. */
bool cpu_follow__process(struct cpu_follow *f, struct horizon *sessions, struct active_set *g);
/* Say what process() did, once rules are in force again. */
void cpu_follow__log(const struct cpu_follow *f);
void cpu_follow__free(struct cpu_follow *f);

#endif
