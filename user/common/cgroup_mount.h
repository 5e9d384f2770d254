/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FRBPF_COMMON_CGROUP_MOUNT_H
#define FRBPF_COMMON_CGROUP_MOUNT_H

#include <stddef.h>

/* Get the mount point of the cgroup2 file system. 0, -ENOENT or -ENAMETOOLONG. */
int cgroup__mount_point(char *buf, size_t size);

/* The same for the hierarchy of @controller ("cpu") in cgroup version 1. */
int cgroup__mount_point_v1(const char *controller, char *buf, size_t size);

#endif
