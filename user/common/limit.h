/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits the resources of this process, for good. */
#ifndef FRBPF_COMMON_LIMIT_H
#define FRBPF_COMMON_LIMIT_H

#include <sys/resource.h>

/*
 * Limit @resource (RLIMIT_...) to @max, or to its present limit if that is lower. The hard limit
 * becomes one above this soft limit, so that SIGXCPU comes before SIGKILL. 0 or negative errno.
 */
int limit__set(int resource, rlim_t max);

#endif
