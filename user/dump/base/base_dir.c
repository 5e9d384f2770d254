// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/foreign.h"
#include "dump/base/base_clock.h"
#include "dump/base/base_dir.h"

#define LOCK_WAIT_NS 1000000000ULL
#define LINKS_MAX    40 /* like the kernel's limit */

/* ---- the path of the base ---- */

/* A path that is being walked: the current directory, without symbolic links, and the rest. */
struct walk {
	char here[PATH_MAX]; /* "": the root */
	char rest[PATH_MAX];
	int n_links;
};

static int check_path_part(const char *path, const struct stat *st, struct err *err)
{
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return err_set(err, -EPERM,
			       "%s, above it, belongs to uid %u, who could replace it: choose "
			       "another base",
			       path, st->st_uid);
	if (S_ISDIR(st->st_mode) && (st->st_mode & 0022) && !(st->st_mode & S_ISVTX))
		return err_set(err, -EPERM,
			       "%s, above it, can be written by others (mode %04o): choose "
			       "another base",
			       path, st->st_mode & 07777);
	return 0;
}

/* Take the next component from the rest. False: there is none, or it is the last one, the base. */
static bool next_path_part(struct walk *w, char part[static PATH_MAX])
{
	const char *from = w->rest + strspn(w->rest, "/");
	size_t len = strcspn(from, "/");

	if (!from[len + strspn(from + len, "/")])
		return false;
	snprintf(part, PATH_MAX, "%.*s", (int)len, from);
	memmove(w->rest, from + len, strlen(from + len) + 1);
	return true;
}

/* Continue where the symbolic link @path leads. */
static int follow_base_link(struct walk *w, const char *path, struct err *err)
{
	char target[PATH_MAX], all[2 * PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	if (n < 0 || ++w->n_links > LINKS_MAX)
		return err_set(err, n < 0 ? -errno : -ELOOP, "%s: %s", path,
			       strerror(n < 0 ? errno : ELOOP));
	target[n] = '\0';
	if (snprintf(all, sizeof(all), "%s%s", target, w->rest) >= PATH_MAX)
		return err_set(err, -ENAMETOOLONG, "%s: %s", path, strerror(ENAMETOOLONG));
	memcpy(w->rest, all, strlen(all) + 1);
	if (target[0] == '/')
		w->here[0] = '\0';
	return 0;
}

/* Walk into @part, or continue at its target if it is a link. *ret_done: it does not exist yet. */
static int enter_part(struct walk *w, const char *part, bool *ret_done, struct err *err)
{
	char path[2 * PATH_MAX];
	struct stat st;
	int code;

	if (strcmp(part, "..") == 0) {
		*(strrchr(w->here, '/') ?: w->here) = '\0';
		return 0;
	}
	if (snprintf(path, sizeof(path), "%s/%s", w->here, part) >= PATH_MAX)
		return err_set(err, -ENAMETOOLONG, "%s: %s", path, strerror(ENAMETOOLONG));
	if (lstat(path, &st) < 0) {
		*ret_done = errno == ENOENT;
		return errno == ENOENT ? 0 : err_set(err, -errno, "%s: %s", path, strerror(errno));
	}
	code = check_path_part(path, &st, err);
	if (code)
		return code;
	if (S_ISLNK(st.st_mode))
		return follow_base_link(w, path, err);
	memcpy(w->here, path, strlen(path) + 1);
	return 0;
}

/*
 * Check that other users cannot replace the base: each directory above the absolute @path, and each
 * symbolic link on the way. They must be root's or ours, and others must not be able to write to a
 * directory unless it is sticky, like /tmp. Missing directories are skipped. The caller checks the
 * last component. 0 or negative errno with a message in @err; -EPERM: other users can replace it.
 */
static int check_base_path(const char *path, struct err *err)
{
	struct walk w = { .here = "" };
	char part[PATH_MAX];
	bool done = false;
	struct stat st;
	int code = 0;

	if (stat("/", &st) == 0)
		code = check_path_part("/", &st, err);
	snprintf(w.rest, sizeof(w.rest), "%s", path);
	while (!code && !done && next_path_part(&w, part)) {
		if (strcmp(part, ".") != 0)
			code = enter_part(&w, part, &done, err);
	}
	return code ? err_prefix(err, code, "%s: ", path) : 0;
}

/* ---- the directory ---- */

/* Open the directory that contains @path (O_PATH). A link of another user must not lead there. */
static int find_parent(const char *path, struct err *err)
{
	int fd = foreign__directory(path);

	if (fd == -ELOOP)
		return err_set(err, fd, "%s: it goes through a link of another user", path);
	return fd < 0 ? err_set(err, fd, "cannot create %s: %s", path, strerror(-fd)) : fd;
}

/* Make the directories above the base. *ret_made: length of the first path that was made. */
static int make_parents(const char *path, size_t *ret_made, struct err *err)
{
	char part[PATH_MAX];

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		_cleanup_close_ int at = -1;

		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		at = find_parent(part, err);
		if (at < 0)
			return at;
		if (mkdirat(at, strrchr(part, '/') + 1, 0755) == 0)
			*ret_made = *ret_made ?: strlen(part);
		else if (errno != EEXIST && strrchr(part, '/')[1])
			return err_set(err, -errno, "cannot create %s: %s", part, strerror(errno));
	}
	return 0;
}

static int check_owner(int fd, const char *path, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (st.st_uid != geteuid())
		return err_set(err, -EPERM,
			       "%s belongs to uid %u, not to us (uid %u): choose another base",
			       path, st.st_uid, geteuid());
	if (st.st_mode & 0022)
		return err_set(err, -EPERM,
			       "%s can be written by others (mode %04o): chmod 0700 it, or choose "
			       "another base",
			       path, st.st_mode & 07777);
	return 0;
}

static bool is_link(int at, const char *name)
{
	struct stat st;
	int err = errno;
	bool link = fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);

	errno = err;
	return link;
}

static int open_dir(int at, const char *name, const char *shown, bool *ret_created, struct err *err)
{
	_cleanup_close_ int fd = -1;
	int code;

	*ret_created = mkdirat(at, name, 0700) == 0;
	if (!*ret_created && errno != EEXIST)
		return err_set(err, -errno, "cannot create %s: %s", shown, strerror(errno));
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno, "cannot open %s: %s", shown,
			       is_link(at, name) ? "it is a symbolic link" : strerror(errno));
	code = check_owner(fd, shown, err);
	if (code)
		return code;
	return TAKE_FD(fd);
}

/* The owner of the lock has written its pid into the file. */
static int read_pid(int fd)
{
	char text[16] = "";

	return pread(fd, text, sizeof(text) - 1, 0) > 0 ? atoi(text) : 0;
}

/* A lock of the open file, not of the process: closing another descriptor does not release it. */
static int lock_file(int fd)
{
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fd, F_OFD_SETLK, &fl);
}

static int lock_dir(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB);
}

/* Wait for the lock: a killed recorder holds its locks until all of its memory is freed. */
static int await_lock(int (*lock)(int fd), int fd)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	uint64_t end = now_ns() + LOCK_WAIT_NS;

	while (lock(fd) < 0) {
		if ((errno != EAGAIN && errno != EACCES) || now_ns() >= end)
			return -1;
		nanosleep(&pause, NULL);
	}
	return 0;
}

static int lock_base(struct base_dir *b, struct err *err)
{
	char pid[16];
	int n;

	b->lock_fd = openat(b->fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (b->lock_fd < 0)
		return err_set(err, -errno, "cannot open %s/lock: %s", b->path, strerror(errno));
	if (await_lock(lock_file, b->lock_fd) < 0) {
		if (errno != EAGAIN && errno != EACCES)
			return err_set(err, -errno, "cannot lock %s/lock: %s", b->path,
				       strerror(errno));
		b->created = false; /* another daemon got the lock first, and owns the base now */
		return err_set(err, -EBUSY, "another frbpf (pid %d) owns %s", read_pid(b->lock_fd),
			       b->path);
	}
	/* lock the directory too: somebody may have removed the lock file and made a new one */
	if (await_lock(lock_dir, b->fd) < 0) {
		int code = -errno;

		unlinkat(b->fd, "lock", 0);
		b->created = false;
		if (code != -EWOULDBLOCK)
			return err_set(err, code, "cannot lock %s: %s", b->path, strerror(-code));
		return err_set(err, -EBUSY,
			       "another frbpf owns %s, whose lock was removed: stop it", b->path);
	}
	n = snprintf(pid, sizeof(pid), "%d\n", getpid());
	if (ftruncate(b->lock_fd, 0) < 0 || pwrite(b->lock_fd, pid, n, 0) != n)
		return err_set(err, -errno, "cannot write %s/lock: %s", b->path, strerror(errno));
	return 0;
}

void base_dir__each_entry(int fd, void (*fn)(int fd, const char *name, void *arg), void *arg)
{
	int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	const struct dirent *e;

	if (!dir) {
		if (again >= 0)
			close(again);
		return;
	}
	while ((e = readdir(dir)))
		fn(fd, e->d_name, arg);
	closedir(dir);
}

static void find_any_entry(int fd, const char *name, void *arg)
{
	if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
		*(bool *)arg = true;
}

static bool is_empty(int fd)
{
	bool any = false;

	base_dir__each_entry(fd, find_any_entry, &any);
	return !any;
}

static void remove_temporary(int fd, const char *name, void *arg)
{
	if (strncmp(name, BASE_DIR_TMP_PREFIX, strlen(BASE_DIR_TMP_PREFIX)) == 0)
		unlinkat(fd, name, 0);
}

static void clean_session(int fd, const char *name, void *arg)
{
	int dir;

	if (strncmp(name, "session-", 8) != 0)
		return;
	dir = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return;
	base_dir__each_entry(dir, remove_temporary, NULL);
	close(dir);
}

/* Strip slashes at the end: the last component is the base itself, not a parent. */
static void strip_slashes(char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		path[--n] = '\0';
}

static int open_base(struct base_dir *b, const char *path, bool must_create, struct err *err)
{
	char shown[PATH_MAX + 16];
	bool created;
	int code;

	*b = (struct base_dir){ .fd = -1, .lock_fd = -1, .incidents_fd = -1 };
	pthread_mutex_init(&b->name_lock, NULL);
	snprintf(b->path, sizeof(b->path), "%s", path);
	strip_slashes(b->path);
	/* the directory of a single run may be in a directory of other users */
	code = must_create ? 0 : check_base_path(b->path, err);
	code = code ?: make_parents(b->path, &b->parents_made, err);
	if (code)
		return code;
	_cleanup_close_ int parent = find_parent(b->path, err);
	if (parent < 0)
		return parent;
	code = open_dir(parent, strrchr(b->path, '/') + 1, b->path, &b->created, err);
	if (code < 0)
		return code;
	b->fd = code;
	/*
	 * check before locking: if the directory is not new and empty, another recorder is about to
	 * lock it, or another directory took its name
	 */
	if (must_create && (!b->created || !is_empty(b->fd)))
		return err_set(err, -EEXIST, "%s: it exists already", b->path);
	code = lock_base(b, err);
	if (code)
		return code;
	snprintf(shown, sizeof(shown), "%s/incidents", b->path);
	code = open_dir(b->fd, "incidents", shown, &created, err);
	if (code < 0)
		return code;
	b->incidents_fd = code;
	base_dir__each_entry(b->incidents_fd, remove_temporary, NULL);
	base_dir__each_entry(b->fd, clean_session, NULL);
	base_clock__load(b);
	return 0;
}

int base_dir__open(struct base_dir *b, const char *path, struct err *err)
{
	return open_base(b, path, false, err);
}

int base_dir__create(struct base_dir *b, const char *path, struct err *err)
{
	return open_base(b, path, true, err);
}

int base_dir__open_session(const struct base_dir *b, const char *name, struct err *err)
{
	char dir[NAME_MAX], shown[PATH_MAX + NAME_MAX];
	bool created;

	snprintf(dir, sizeof(dir), "session-%s", name);
	snprintf(shown, sizeof(shown), "%s/%s", b->path, dir);
	return open_dir(b->fd, dir, shown, &created, err);
}

int base_dir__renew(const struct base_dir *b, const char *name, int fd, struct err *err)
{
	_cleanup_close_ int again = -1;
	char shown[PATH_MAX + NAME_MAX];
	struct stat is, was;
	bool created;

	if (fstat(fd, &was) == 0 && fstatat(b->fd, name, &is, AT_SYMLINK_NOFOLLOW) == 0 &&
	    is.st_dev == was.st_dev && is.st_ino == was.st_ino)
		return 0;
	snprintf(shown, sizeof(shown), "%s/%s", b->path, name);
	again = open_dir(b->fd, name, shown, &created, err);
	if (again < 0)
		return TAKE_FD(again);
	if (dup3(again, fd, O_CLOEXEC) < 0)
		return err_set(err, -errno, "%s: %s", shown, strerror(errno));
	return 1;
}

static void remove_empty_session(int fd, const char *name, void *arg)
{
	if (strncmp(name, "session-", 8) == 0)
		unlinkat(fd, name, AT_REMOVEDIR);
}

/* Remove the empty directory @path. 0 or negative errno. */
static int remove_directory(const char *path)
{
	_cleanup_close_ int at = foreign__directory(path);

	if (at < 0)
		return at;
	return unlinkat(at, strrchr(path, '/') + 1, AT_REMOVEDIR) ? -errno : 0;
}

static void remove_parents(const struct base_dir *b)
{
	char part[PATH_MAX];
	char *slash;

	if (!b->parents_made)
		return;
	snprintf(part, sizeof(part), "%s", b->path);
	while ((slash = strrchr(part, '/')) && (size_t)(slash - part) >= b->parents_made) {
		*slash = '\0';
		if (remove_directory(part))
			return;
	}
}

/* Is our base still at @b->path? The owner of a directory above may have replaced it. */
static bool has_its_name(const struct base_dir *b)
{
	struct stat own, named;

	return b->fd < 0 || (!fstat(b->fd, &own) && !lstat(b->path, &named) &&
			     own.st_dev == named.st_dev && own.st_ino == named.st_ino);
}

void base_dir__close(struct base_dir *b, bool undo)
{
	if (b->fd >= 0 && b->lock_fd >= 0) {
		if (undo && b->incidents_fd >= 0) {
			unlinkat(b->fd, "incidents", AT_REMOVEDIR);
			base_dir__each_entry(b->fd, remove_empty_session, NULL);
		}
		if (undo && b->created)
			unlinkat(b->fd, "lock", 0);
	}
	if (undo && b->created && has_its_name(b) && remove_directory(b->path) == 0)
		remove_parents(b);
	if (b->incidents_fd >= 0)
		close(b->incidents_fd);
	if (b->lock_fd >= 0)
		close(b->lock_fd);
	if (b->fd >= 0)
		close(b->fd);
	pthread_mutex_destroy(&b->name_lock);
	b->fd = b->lock_fd = b->incidents_fd = -1;
}
