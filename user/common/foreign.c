// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/foreign.h"

#define HANDLE_FLAGS (O_PATH | O_CLOEXEC)

/* Where the headers are older. */
#ifndef EFIVARFS_MAGIC
#define EFIVARFS_MAGIC 0xde5e81e4
#endif
#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

/* Not in 5.15's users' glibc. */
static int openat2_path(int dir, const char *path, uint64_t resolve)
{
	struct open_how how = { .flags = HANDLE_FLAGS, .resolve = resolve };
	long fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/*
 * What the kernel makes up (/proc, /sys, tracefs, debugfs, cgroups ...) has no blocks: simple_statfs(). Of
 * file systems with files, those may have none: in memory without a limit, or told by a server.
 */
static bool is_real(int fd)
{
	struct statfs s;

	if (fstatfs(fd, &s))
		return false;
	switch ((uint32_t)s.f_type) {
	case EFIVARFS_MAGIC:
		return false;
	case TMPFS_MAGIC:
	case RAMFS_MAGIC:
	case HUGETLBFS_MAGIC:
	case OVERLAYFS_SUPER_MAGIC:
	case V9FS_MAGIC:
	case FUSE_SUPER_MAGIC:
	case NFS_SUPER_MAGIC:
	case AFS_SUPER_MAGIC:
		return true;
	}
	return s.f_blocks;
}

/* Takes @fd over. @by_link: links were, or may have been, followed. */
static int check_found(int fd, bool by_link, struct stat *ret)
{
	struct stat st;
	int r = 0;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		r = -errno;
	else if (!S_ISREG(st.st_mode) || !is_real(fd))
		r = -ENXIO;
	else if (by_link && !(st.st_mode & S_IROTH))
		r = -EACCES;
	if (r) {
		close(fd);
		return r;
	}
	*ret = st;
	return fd;
}

int foreign__find(const char *path, unsigned int flags, struct stat *ret)
{
	int fd;

	if (flags & (FOREIGN_TRUSTED | FOREIGN_MAGIC)) {
		fd = open(path, HANDLE_FLAGS);
		return check_found(fd < 0 ? -errno : fd, false, ret);
	}
	fd = openat2_path(AT_FDCWD, path, RESOLVE_NO_SYMLINKS);
	if (fd >= 0 || (fd != -ELOOP && fd != -ENOSYS && fd != -EPERM))
		return check_found(fd, false, ret);
	/* a link, or a container whose filter does not know the call */
	fd = open(path, HANDLE_FLAGS);
	return check_found(fd < 0 ? -errno : fd, true, ret);
}

int foreign__find_of(uint32_t pid, const char *name, struct stat *ret)
{
	char path[64];
	int fd;

	if (name[0] != '/')
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root", pid);
	_cleanup_close_ int root = open(path, HANDLE_FLAGS | O_DIRECTORY);
	if (root < 0)
		return -errno;
	fd = openat2_path(root, name, RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);
	if (fd != -ENOSYS && fd != -EPERM)
		return check_found(fd, false, ret);
	fd = openat(root, name + 1, HANDLE_FLAGS | O_NOFOLLOW);
	return check_found(fd < 0 ? -errno : fd, true, ret);
}

int foreign__open(int found)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

/* Takes @found over. */
static int open_same(int found, const struct stat *st, const struct stat *expected)
{
	int fd;

	if (found < 0)
		return found;
	if (expected && (st->st_dev != expected->st_dev || st->st_ino != expected->st_ino))
		fd = -ESTALE;
	else
		fd = foreign__open(found);
	close(found);
	return fd;
}

int foreign__open_path(const char *path, unsigned int flags, const struct stat *expected)
{
	struct stat st;
	int found = foreign__find(path, flags, &st);

	return open_same(found, &st, expected);
}

int foreign__open_of(uint32_t pid, const char *name, const struct stat *expected)
{
	struct stat st;
	int found = foreign__find_of(pid, name, &st);

	return open_same(found, &st, expected);
}
