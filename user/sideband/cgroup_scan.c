// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cgroup_mount.h"
#include "common/cleanup.h"
#include "sideband/cgroup_scan.h"

#define DEPTH_MAX 64

/* Get the kernfs id, from the file handle: records and bpf_get_current_cgroup_id() have this id. */
static bool cgroup_id(int dir, uint64_t *ret)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + sizeof(uint64_t)];
	} h = { .handle.handle_bytes = sizeof(uint64_t) };
	struct stat st;
	int mount;

	if (!name_to_handle_at(dir, "", &h.handle, &mount, AT_EMPTY_PATH) &&
	    h.handle.handle_bytes == sizeof(*ret)) {
		memcpy(ret, h.handle.f_handle, sizeof(*ret));
		return true;
	}
	if (fstat(dir, &st))
		return false;
	*ret = st.st_ino; /* equals the id if ino_t has 64 bits */
	return true;
}

/* Add a cgroup and those below it. @path: relative to the mount, @len bytes. Takes over @fd. */
static int scan_dir(struct kernel_state *k, int fd, char path[PATH_MAX], size_t len, int depth)
{
	DIR *dir = fdopendir(fd);
	struct dirent *de;
	uint64_t id;
	int err = 0;

	if (!dir) {
		close(fd);
		return 0;
	}
	if (cgroup_id(fd, &id))
		err = kernel_state__add_cgroup(k, id, len ? path : "/");
	while (!err && depth < DEPTH_MAX && (de = readdir(dir))) {
		size_t n = strlen(de->d_name);
		int child;

		if (de->d_type != DT_DIR || de->d_name[0] == '.' || len + n + 2 > PATH_MAX)
			continue;
		child = openat(fd, de->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (child < 0)
			continue;
		path[len] = '/';
		memcpy(path + len + 1, de->d_name, n + 1);
		err = scan_dir(k, child, path, len + n + 1, depth + 1);
		path[len] = '\0';
	}
	closedir(dir);
	return err;
}

int cgroup_scan__tree(struct kernel_state *k)
{
	char path[PATH_MAX];
	int fd;

	if (cgroup__mount_point_v1("perf_event", path, sizeof(path)) &&
	    cgroup__mount_point(path, sizeof(path)))
		return 0;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	path[0] = '\0';
	return fd < 0 ? 0 : scan_dir(k, fd, path, 0, 0);
}
