/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the existing cgroups. */
#ifndef FRBPF_SIDEBAND_CGROUP_SCAN_H
#define FRBPF_SIDEBAND_CGROUP_SCAN_H

#include "symbols/kernel_state.h"

/*
 * Add to @k the cgroups of the tree that perf records refer to. That is the tree of the version 1
 * perf_event controller if it is mounted, else version 2. Adds nothing if there is no such tree, or
 * it cannot be read. 0 or -ENOMEM.
 */
int cgroup_scan__tree(struct kernel_state *k);

#endif
