// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>

#include "common/cgroup_mount.h"

int cgroup__mount_point(char *buf, size_t size)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	int r = -ENOENT;

	if (!f)
		return -errno;
	while (r == -ENOENT && (m = getmntent(f))) {
		if (!strcmp(m->mnt_type, "cgroup2"))
			r = snprintf(buf, size, "%s", m->mnt_dir) < (int)size ? 0 : -ENAMETOOLONG;
	}
	endmntent(f);
	return r;
}
