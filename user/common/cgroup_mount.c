// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>

#include "common/cgroup_mount.h"

/* @option: NULL for any. */
static int find_mount(const char *type, const char *option, char *buf, size_t size)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	char line[2 * PATH_MAX];
	struct mntent m;
	int err = -ENOENT;

	if (!f)
		return -errno;
	while (err == -ENOENT && getmntent_r(f, &m, line, sizeof(line))) {
		if (!strcmp(m.mnt_type, type) && (!option || hasmntopt(&m, option)))
			err = snprintf(buf, size, "%s", m.mnt_dir) < (int)size ? 0 : -ENAMETOOLONG;
	}
	endmntent(f);
	return err;
}

int cgroup__mount_point(char *buf, size_t size)
{
	return find_mount("cgroup2", NULL, buf, size);
}

int cgroup__mount_point_v1(const char *controller, char *buf, size_t size)
{
	return find_mount("cgroup", controller, buf, size);
}
