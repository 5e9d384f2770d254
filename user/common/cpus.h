/* SPDX-License-Identifier: GPL-2.0-only */
/* CPU lists as sysfs writes them. */
#ifndef FRBPF_COMMON_CPUS_H
#define FRBPF_COMMON_CPUS_H

#include <stddef.h>

/* Parse "0,2-5\n" into an ascending array, owned by the caller. 0, -EINVAL or -ENOMEM. */
int cpus__parse(const char *list, int **ret, size_t *ret_n);
/* The CPUs that are online now. Also negative errno of reading sysfs. */
int cpus__online(int **ret, size_t *ret_n);

#endif
