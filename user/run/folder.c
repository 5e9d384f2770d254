// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "run/folder.h"

#define NAMES_TRIES 100

static int make_absolute(const char *path, char ret[static PATH_MAX], struct err *err)
{
	_cleanup_free_ char *cwd = path[0] == '/' ? NULL : getcwd(NULL, 0);
	int n;

	if (path[0] != '/' && !cwd)
		return err_set(err, -errno, "the current directory: %s", strerror(errno));
	n = snprintf(ret, PATH_MAX, "%s%s%s", cwd ?: "", cwd ? "/" : "", path);
	if (n < PATH_MAX - 128) /* names of dumps follow */
		return 0;
	return err_set(err, -ENAMETOOLONG, "-o %.64s...: too long", path);
}

static int make(const char *path, struct folder *f, struct err *err)
{
	char absolute[PATH_MAX];
	struct stat st;
	int code;

	if (!*path)
		return err_set(err, -EINVAL, "-o: an empty name");
	code = make_absolute(path, absolute, err);
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

int folder__make(const char *path, struct folder *ret, struct err *err)
{
	char date[32] = "0", name[64];
	time_t now = time(NULL);
	struct tm tm;
	int code;

	if (path)
		return make(path, ret, err);
	if (localtime_r(&now, &tm))
		strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &tm);
	snprintf(name, sizeof(name), "frbpf-%s", date);
	code = make(name, ret, err);
	for (int i = 2; code == -EEXIST && i < NAMES_TRIES; i++) {
		snprintf(name, sizeof(name), "frbpf-%s-%d", date, i);
		*err = (struct err){ 0 };
		code = make(name, ret, err);
	}
	return code;
}

void folder__undo(struct folder *f)
{
	if (f->open)
		base_dir__close(&f->base, true);
	f->open = false;
}

/* nftw() knows no argument. */
static __thread const struct child_user *new_owner;

static int give(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return lchown(path, new_owner->uid, new_owner->gid) ? -errno : 0;
}

int folder__finish(struct folder *f, const struct child_user *owner, struct err *err)
{
	int code = 0;

	if (!f->open)
		return 0;
	unlinkat(f->base.fd, "lock", 0);
	if (owner->change && owner->uid != geteuid()) {
		/* nobody else can write in it before its own entry changes hands: depth first */
		new_owner = owner;
		code = nftw(f->base.path, give, 8, FTW_PHYS | FTW_DEPTH | FTW_MOUNT);
	}
	base_dir__close(&f->base, false);
	f->open = false;
	return code ? err_set(err, code, "%s cannot be given to %s: %s", f->base.path, owner->name,
			      strerror(-code))
		    : 0;
}
