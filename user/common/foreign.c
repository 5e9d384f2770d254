// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/foreign.h"

#define HANDLE_FLAGS (O_PATH | O_CLOEXEC)

/* Older headers lack these. */
#ifndef EFIVARFS_MAGIC
#define EFIVARFS_MAGIC 0xde5e81e4
#endif
#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

/* openat2() without a wrapper: the C library may have none. */
static int openat2_path(int dir, const char *path, uint64_t resolve)
{
	struct open_how how = { .flags = HANDLE_FLAGS, .resolve = resolve };
	long fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/*
 * Virtual file systems (/proc, /sys, tracefs, debugfs, cgroups ...) report no blocks: see
 * simple_statfs(). The real ones listed here may report none, too: in memory without a limit, or on
 * a server.
 */
static bool is_real_file_system(int fd)
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

/*
 * Takes @fd over. @by_link: links may have been followed, so everybody must be able to read the
 * file.
 */
static int check_found_file(int fd, bool by_link, struct stat *ret)
{
	struct stat st;
	int err = 0;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode) || !is_real_file_system(fd))
		err = -ENXIO;
	else if (by_link && !(st.st_mode & S_IROTH))
		err = -EACCES;
	if (err) {
		close(fd);
		return err;
	}
	*ret = st;
	return fd;
}

/* ---- paths with links, and who owns these ---- */

#define LINKS_MAX 40 /* the limit of the kernel */
#define NOBODY	  ((uid_t)-1)

struct walk {
	int at; /* the directory or file reached so far: a handle; owned */
	int n_links;
	bool trusted; /* links of root and of our user do not count */
	uid_t owner;  /* owner of other links; 0: there are none; NOBODY: several */
	bool hidden;  /* one of these other links leads to a directory that others cannot enter */
	char rest[PATH_MAX];
};

/* Cut the next name off the rest. False: there is none. */
static bool walk__next(struct walk *w, char ret_name[static NAME_MAX + 1])
{
	const char *begin = w->rest + strspn(w->rest, "/");
	size_t len = strcspn(begin, "/");

	if (!len || len > NAME_MAX)
		return false;
	memcpy(ret_name, begin, len);
	ret_name[len] = '\0';
	memmove(w->rest, begin + len, strlen(begin + len) + 1);
	return true;
}

/* Put the target of the link @fd before the rest. */
static int walk__follow(struct walk *w, int fd)
{
	char to[PATH_MAX];
	ssize_t n = readlinkat(fd, "", to, sizeof(to));
	size_t rest = strlen(w->rest);

	if (n <= 0)
		return n ? -errno : -ENOENT;
	if (++w->n_links > LINKS_MAX)
		return -ELOOP;
	if (n + 1 + rest >= sizeof(w->rest))
		return -ENAMETOOLONG;
	memmove(w->rest + n + 1, w->rest, rest + 1);
	memcpy(w->rest, to, n);
	w->rest[n] = '/';
	if (to[0] != '/')
		return 0;
	close(w->at);
	w->at = open("/", HANDLE_FLAGS | O_DIRECTORY);
	return w->at < 0 ? -errno : 0;
}

/* Links such as /proc/PID/root have no target path that could be walked. */
static bool is_magic(int fd)
{
	struct statfs s;

	return !fstatfs(fd, &s) && (uint32_t)s.f_type == PROC_SUPER_MAGIC;
}

/* Takes *fd over. */
static void walk__go_to(struct walk *w, int *fd)
{
	close(w->at);
	w->at = *fd;
	*fd = -1;
}

static void walk__note_owner(struct walk *w, uid_t owner)
{
	if (!w->trusted)
		w->owner = NOBODY;
	else if (owner && owner != geteuid())
		w->owner = w->owner && w->owner != owner ? NOBODY : owner;
}

static int walk__step(struct walk *w, const char *name)
{
	int fd = openat(w->at, name, HANDLE_FLAGS | O_NOFOLLOW), err = 0;
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		err = -errno;
	} else if (!S_ISLNK(st.st_mode)) {
		w->hidden |= w->owner && S_ISDIR(st.st_mode) && !(st.st_mode & S_IXOTH) &&
			     st.st_uid != w->owner;
		walk__go_to(w, &fd);
	} else if (is_magic(fd)) {
		close(fd);
		fd = openat(w->at, name, HANDLE_FLAGS);
		err = fd < 0 ? -errno : 0;
		if (!err)
			walk__go_to(w, &fd);
	} else {
		walk__note_owner(w, st.st_uid);
		err = walk__follow(w, fd);
	}
	if (fd >= 0)
		close(fd);
	return err;
}

/*
 * Like open() with O_PATH, but notes which user's links were followed. Without @trusted all links
 * count as another user's.
 */
static int walk__open(struct walk *w, const char *path, bool trusted)
{
	char name[NAME_MAX + 1];
	int err;

	*w = (struct walk){ .trusted = trusted };
	w->at = open(path[0] == '/' ? "/" : ".", HANDLE_FLAGS | O_DIRECTORY);
	err = w->at < 0 ? -errno : path[0] ? 0 : -ENOENT;
	if (strlen(path) >= sizeof(w->rest))
		err = err ?: -ENAMETOOLONG;
	else
		strcpy(w->rest, path);
	while (!err && walk__next(w, name))
		err = walk__step(w, name);
	if (!err && w->rest[strspn(w->rest, "/")])
		err = -ENAMETOOLONG;
	if (err)
		cleanup_close(&w->at);
	return err ?: w->at;
}

static int find_by_links(const char *path, bool trusted, struct stat *ret)
{
	struct walk w;
	struct stat st;
	int fd = check_found_file(walk__open(&w, path, trusted), false, &st);

	if (fd >= 0 && w.owner && w.owner != st.st_uid && (w.hidden || !(st.st_mode & S_IROTH))) {
		close(fd);
		return -EACCES;
	}
	if (fd >= 0)
		*ret = st;
	return fd;
}

int foreign__find(const char *path, unsigned int flags, struct stat *ret)
{
	int fd;

	if (flags & FOREIGN_MAGIC) {
		fd = open(path, HANDLE_FLAGS);
		return check_found_file(fd < 0 ? -errno : fd, false, ret);
	}
	fd = openat2_path(AT_FDCWD, path, RESOLVE_NO_SYMLINKS);
	if (fd >= 0 || (fd != -ELOOP && fd != -ENOSYS && fd != -EPERM))
		return check_found_file(fd, false, ret);
	/* a link, or a container whose seccomp filter refuses openat2() */
	return find_by_links(path, flags & FOREIGN_TRUSTED, ret);
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
		return check_found_file(fd, false, ret);
	fd = openat(root, name + 1, HANDLE_FLAGS | O_NOFOLLOW);
	return check_found_file(fd < 0 ? -errno : fd, true, ret);
}

static int reopen_file(int found, int flags)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	fd = open(path, flags);
	return fd < 0 ? -errno : fd;
}

int foreign__open(int found)
{
	return reopen_file(found, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/* Takes @found over. */
static int open_same_file(int found, const struct stat *st, const struct stat *expected)
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

	return open_same_file(found, &st, expected);
}

int foreign__open_of(uint32_t pid, const char *name, const struct stat *expected)
{
	struct stat st;
	int found = foreign__find_of(pid, name, &st);

	return open_same_file(found, &st, expected);
}

/* ---- files that we write ---- */

int foreign__directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *parent = slash ? strndup(path, slash + 1 - path) : strdup(".");
	struct walk w;
	int at = parent ? walk__open(&w, parent, true) : -ENOMEM;

	if (at < 0 || !w.owner)
		return at;
	close(at);
	return -ELOOP;
}

static int create_file(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	int at = foreign__directory(path), fd;

	if (at < 0)
		return at;
	fd = openat(at, name, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	fd = fd < 0 ? -errno : fd;
	close(at);
	return fd;
}

/* Takes @at over. */
static int open_walk_for_append(const struct walk *w, int at, int flags)
{
	int fd = w->owner ? -ELOOP
			  : reopen_file(at, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | flags);

	close(at);
	return fd;
}

int foreign__append(const char *path)
{
	struct walk w;
	int at = walk__open(&w, path, true);

	if (at == -ENOENT)
		return create_file(path);
	return at < 0 ? at : open_walk_for_append(&w, at, 0);
}

int foreign__append_file(const char *path)
{
	struct walk w;
	struct stat st;
	int at = check_found_file(walk__open(&w, path, true), false, &st);

	return at < 0 ? at : open_walk_for_append(&w, at, O_NONBLOCK);
}
