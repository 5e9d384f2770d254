// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "run/output_dir.h"

#define NAMES_TRIES 100
#define DEPTH_MAX   4 /* of directories in a directory; there are two levels */

static int make_directory_absolute(const char *path, char ret[static PATH_MAX], struct err *err)
{
	_cleanup_free_ char *cwd = path[0] == '/' ? NULL : getcwd(NULL, 0);
	int n;

	if (path[0] != '/' && !cwd)
		return err_set(err, -errno, "cannot find the current directory: %s",
			       strerror(errno));
	n = snprintf(ret, PATH_MAX, "%s%s%s", cwd ?: "", cwd ? "/" : "", path);
	if (n < PATH_MAX - 128) /* room for the names of dumps */
		return 0;
	return err_set(err, -ENAMETOOLONG, "-o %.64s...: too long", path);
}

static int make_output_dir(const char *path, struct output_dir *f, struct err *err)
{
	char absolute[PATH_MAX];
	struct stat st;
	int code;

	if (!*path)
		return err_set(err, -EINVAL, "-o: an empty name");
	code = make_directory_absolute(path, absolute, err);
	if (code)
		return code;
	if (lstat(absolute, &st) == 0)
		return err_set(err, -EEXIST,
			       "-o %s: it exists already: choose another, nothing is "
			       "overwritten",
			       path);
	code = base_dir__create(&f->base, absolute, err);
	if (code)
		base_dir__close(&f->base, true);
	f->open = !code;
	return code;
}

int output_dir__make(const char *path, struct output_dir *ret, struct err *err)
{
	char date[32] = "0", name[64];
	time_t now = time(NULL);
	struct tm tm;
	int code;

	if (path)
		return make_output_dir(path, ret, err);
	if (localtime_r(&now, &tm))
		strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &tm);
	snprintf(name, sizeof(name), "frbpf-%s", date);
	code = make_output_dir(name, ret, err);
	for (int i = 2; code == -EEXIST && i < NAMES_TRIES; i++) {
		snprintf(name, sizeof(name), "frbpf-%s-%d", date, i);
		*err = (struct err){ 0 };
		code = make_output_dir(name, ret, err);
	}
	return code;
}

void output_dir__undo(struct output_dir *f)
{
	if (f->open)
		base_dir__close(&f->base, true);
	f->open = false;
}

/*
 * Changes the owner of all files below the directory, through its open descriptor: the owner of a
 * parent directory may have replaced its name. The directory itself comes last; until then nobody
 * else can look into it.
 */
struct gift {
	uid_t uid;
	gid_t gid;
	dev_t dev; /* of the directory's file system */
};

/*
 * Did frbpf make the file? A link, or a file with another name elsewhere, must not be given away.
 */
static bool is_own_directory(const struct stat *st, const struct gift *g)
{
	return st->st_uid == geteuid() && st->st_dev == g->dev &&
	       (S_ISDIR(st->st_mode) || (S_ISREG(st->st_mode) && st->st_nlink == 1));
}

static int give_entries(int dir, const struct gift *g, int depth);

static int give_entry(int dir, const char *name, const struct gift *g, int depth)
{
	_cleanup_close_ int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int err = 0;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!is_own_directory(&st, g))
		return 0;
	if (S_ISDIR(st.st_mode))
		err = depth ? give_entries(fd, g, depth - 1) : 0;
	if (!err && fchownat(fd, "", g->uid, g->gid, AT_EMPTY_PATH))
		err = -errno;
	return err;
}

/* @dir: an O_PATH or ordinary descriptor of a directory. */
static int give_entries(int dir, const struct gift *g, int depth)
{
	int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), code = 0;
	DIR *entries = again < 0 ? NULL : fdopendir(again);
	const struct dirent *e;

	if (!entries) {
		code = -errno;
		if (again >= 0)
			close(again);
		return code;
	}
	while (!code && (e = readdir(entries))) {
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			code = give_entry(again, e->d_name, g, depth);
	}
	closedir(entries);
	return code;
}

static int give_directory(const struct output_dir *f, const struct child_user *owner)
{
	struct gift g = { owner->uid, owner->gid, 0 };
	struct stat st;
	int err;

	if (fstat(f->base.fd, &st))
		return -errno;
	g.dev = st.st_dev;
	err = give_entries(f->base.fd, &g, DEPTH_MAX);
	if (!err && fchown(f->base.fd, g.uid, g.gid))
		err = -errno;
	return err;
}

int output_dir__finish(struct output_dir *f, const struct child_user *owner, struct err *err)
{
	int code = 0;

	if (!f->open)
		return 0;
	unlinkat(f->base.fd, "lock", 0);
	if (owner->change && owner->uid != geteuid())
		code = give_directory(f, owner);
	base_dir__close(&f->base, false);
	f->open = false;
	return code ? err_set(err, code, "cannot change the owner of %s to %s: %s", f->base.path,
			      owner->name, strerror(-code))
		    : 0;
}
