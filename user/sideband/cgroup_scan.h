/* SPDX-License-Identifier: GPL-2.0-only */
/* The cgroups that are there now. */
#ifndef FRBPF_SIDEBAND_CGROUP_SCAN_H
#define FRBPF_SIDEBAND_CGROUP_SCAN_H

#include "symbols/kernel_state.h"

/* Read the tree that perf's records speak of: that of the perf_event controller where it is mounted
 * by itself (version 1), else version 2. Without one, or where it cannot be read, nothing is added.
 * 0 or -ENOMEM. */
int cgroup_scan__tree(struct kernel_state *k);

#endif
