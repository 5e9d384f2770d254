// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dump/base/base_path.h"

#define LINKS_MAX 40 /* like the kernel's limit */

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

int base_path__check(const char *path, struct err *err)
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
