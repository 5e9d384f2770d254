// SPDX-License-Identifier: GPL-2.0-only
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "daemon/rules_watch.h"
#include "rules/rules_files.h"

/*
 * A file is complete only when it is closed after writing. A symbolic link is complete when it
 * exists.
 */
#define FILE_EVENTS (IN_CLOSE_WRITE | IN_MOVED_TO)
#define LINK_EVENTS (IN_CREATE | IN_MOVED_TO)
#define EVENTS	    (FILE_EVENTS | LINK_EVENTS | IN_ONLYDIR)

#define LINKS_MAX 40 /* like the kernel's limit */

/* A name in a directory: the file itself, or a symbolic link on the way to it. */
struct watched_name {
	int wd;
	uint32_t events;
	char name[NAME_MAX + 1];
};

struct watched_names {
	struct watched_name *v; /* owned */
	size_t n, cap;
};

struct rules_watch {
	int fd;
	char *path; /* a list; owned; NULL: nothing is followed */
	struct watched_names names;
};

int rules_watch__new(struct err *err, struct rules_watch **ret)
{
	struct rules_watch *w = calloc(1, sizeof(*w));

	if (!w)
		return err_set(err, -ENOMEM, "out of memory");
	w->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (w->fd < 0) {
		free(w);
		return err_set(err, -errno, "inotify: %s", strerror(errno));
	}
	*ret = w;
	return 0;
}

int rules_watch__fd(const struct rules_watch *w)
{
	return w->fd;
}

/* ---- names on a path ---- */

/* A path that is being walked: the resolved part and the rest. */
struct walk {
	char dir[PATH_MAX]; /* no symbolic link in it */
	char rest[2 * PATH_MAX];
	size_t n_names;
};

static int add_watched_name(struct rules_watch *w, struct walk *k, struct watched_names *to,
			    const char *name, uint32_t events)
{
	struct watched_name *p;

	if (k->n_names++ > LINKS_MAX || strlen(name) > NAME_MAX)
		return -ELOOP;
	if (!ARRAY_HAS_ROOM(to->v, to->n, to->cap, 8))
		return -ENOMEM;
	p = &to->v[to->n];
	p->wd = inotify_add_watch(w->fd, k->dir[0] ? k->dir : "/", EVENTS);
	if (p->wd < 0)
		return -errno;
	p->events = events;
	strcpy(p->name, name);
	to->n++;
	return 0;
}

/* Put @target before the rest. */
static int follow_rules_link(struct walk *k, const char *target)
{
	char rest[sizeof(k->rest)];
	int n = snprintf(rest, sizeof(rest), "%s/%s", target, k->rest);

	if (n >= (int)sizeof(rest))
		return -ENAMETOOLONG;
	if (target[0] == '/')
		k->dir[0] = '\0';
	memcpy(k->rest, rest, n + 1);
	return 0;
}

static int walk_descend(struct walk *k, const char *name)
{
	size_t len = strlen(k->dir);

	if (!strcmp(name, "..")) {
		char *slash = strrchr(k->dir, '/');

		if (slash)
			*slash = '\0';
		return 0;
	}
	if (len + strlen(name) + 2 > sizeof(k->dir))
		return -ENAMETOOLONG;
	k->dir[len] = '/';
	strcpy(k->dir + len + 1, name);
	return 0;
}

/* Take the next name from k->rest; false: there is none. */
static bool next_path_name(struct walk *k, char name[static NAME_MAX + 2])
{
	char *p = k->rest + strspn(k->rest, "/");
	size_t len = strcspn(p, "/");

	snprintf(name, NAME_MAX + 2, "%.*s", (int)len, p);
	memmove(k->rest, p + len, strlen(p + len) + 1);
	return len;
}

/* Read a symbolic link. 0: there is no such link. */
static ssize_t read_target(const struct walk *k, const char *name, char target[static PATH_MAX])
{
	char path[PATH_MAX + NAME_MAX + 2];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", k->dir, name);
	n = readlink(path, target, PATH_MAX - 1);
	if (n < 0)
		return 0;
	target[n] = '\0';
	return n;
}

/*
 * Walk one name further. 1: the path has ended. Each name is watched before it is read, so that a
 * later change of a link is noticed.
 */
static int walk_step(struct rules_watch *w, struct walk *k, struct watched_names *to)
{
	char name[NAME_MAX + 2], target[PATH_MAX];
	bool last;
	int err;

	if (!next_path_name(k, name))
		return 1;
	if (!strcmp(name, "."))
		return 0;
	last = !k->rest[strspn(k->rest, "/")];
	if (strcmp(name, "..") != 0 && read_target(k, name, target)) {
		err = add_watched_name(w, k, to, name, LINK_EVENTS);
		if (!err && read_target(k, name, target))
			err = follow_rules_link(k, target);
		return err;
	}
	if (last)
		return add_watched_name(w, k, to, name, FILE_EVENTS);
	return walk_descend(k, name);
}

static bool watched_names_have(const struct watched_names *p, int wd)
{
	for (size_t i = 0; i < p->n; i++) {
		if (p->v[i].wd == wd)
			return true;
	}
	return false;
}

/* Watch all names on one path that exist. */
static int watch_names_of_path(struct rules_watch *w, const char *path, struct watched_names *to)
{
	struct walk k = { .dir = "" };
	int err = 0;

	if (snprintf(k.rest, sizeof(k.rest), "%s", path) >= (int)sizeof(k.rest))
		return -ENAMETOOLONG;
	while (!err)
		err = walk_step(w, &k, to);
	return err;
}

/*
 * Watch the paths as they lead now. Existing parts are watched even if the rest is missing. 0; or
 * negative errno if nothing is watched.
 */
static int watch_all_names(struct rules_watch *w)
{
	_cleanup_free_ char *paths = w->path ? strdup(w->path) : NULL;
	const char separator[] = { RULES_FILES_SEPARATOR, '\0' };
	int code = w->path && !paths ? -ENOMEM : 0;
	struct watched_names now = { .n = 0 };
	char *save = NULL, *p;

	for (p = paths ? strtok_r(paths, separator, &save) : NULL; p;
	     p = strtok_r(NULL, separator, &save))
		code = watch_names_of_path(w, p, &now);
	for (size_t i = 0; i < w->names.n; i++) {
		if (!watched_names_have(&now, w->names.v[i].wd))
			inotify_rm_watch(w->fd, w->names.v[i].wd);
	}
	free(w->names.v);
	w->names = now;
	return now.n || code > 0 ? 0 : code;
}

static void stop_watch(struct rules_watch *w)
{
	free(w->path);
	w->path = NULL;
	watch_all_names(w);
}

int rules_watch__follow(struct rules_watch *w, const char *path, struct err *err)
{
	int code;

	if (path && w->path && strcmp(path, w->path) == 0)
		return 0;
	stop_watch(w);
	if (!path)
		return 0;
	if (path[0] != '/')
		return err_set(err, -EINVAL, "%s: not an absolute path", path);
	w->path = strdup(path);
	if (!w->path)
		return err_set(err, -ENOMEM, "out of memory");
	code = watch_all_names(w);
	if (code) {
		err_set(err, code, "cannot watch %s: %s", path, strerror(-code));
		stop_watch(w);
		return -EIO;
	}
	return 1;
}

/* ---- what has changed ---- */

static bool event_concerns(const struct rules_watch *w, const struct inotify_event *e)
{
	/* the queue has lost events, which may have been about our files */
	if (e->mask & IN_Q_OVERFLOW)
		return true;
	for (size_t i = 0; i < w->names.n; i++) {
		const struct watched_name *p = &w->names.v[i];

		if (e->wd != p->wd)
			continue;
		if (e->mask & IN_IGNORED ||
		    (e->mask & p->events && e->len && !strcmp(e->name, p->name)))
			return true;
	}
	return false;
}

int rules_watch__changed(struct rules_watch *w)
{
	char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	bool changed = false;
	ssize_t n;

	while ((n = read(w->fd, events, sizeof(events))) > 0) {
		for (const char *p = events; p < events + n;) {
			const struct inotify_event *e = (const void *)p;

			changed = changed || event_concerns(w, e);
			p += sizeof(*e) + e->len;
		}
	}
	if (!changed || !w->path)
		return false;
	if (!watch_all_names(w))
		return true;
	stop_watch(w);
	return -ESTALE;
}

void rules_watch__free(struct rules_watch *w)
{
	if (!w)
		return;
	free(w->path);
	free(w->names.v);
	close(w->fd);
	free(w);
}
