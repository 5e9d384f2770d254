// SPDX-License-Identifier: GPL-2.0-only
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "daemon/rules_watch.h"

/* A file that is open for writing is not complete: only its close counts. */
#define EVENTS (IN_CLOSE_WRITE | IN_MOVED_TO | IN_ONLYDIR)

struct rules_watch {
	int fd;
	int dir;    /* watch descriptor; -1: nothing is followed */
	char *path; /* owned; NULL: nothing */
};

int rules_watch__new(struct err *err, struct rules_watch **ret)
{
	struct rules_watch *w = calloc(1, sizeof(*w));

	if (!w)
		return err_set(err, -ENOMEM, "out of memory");
	w->dir = -1;
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

static void stop(struct rules_watch *w)
{
	if (w->dir >= 0)
		inotify_rm_watch(w->fd, w->dir);
	w->dir = -1;
	free(w->path);
	w->path = NULL;
}

int rules_watch__follow(struct rules_watch *w, const char *path, struct err *err)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	_cleanup_free_ char *dir = NULL;

	if (path && w->path && strcmp(path, w->path) == 0)
		return 0;
	stop(w);
	if (!path)
		return 0;
	if (!slash)
		return err_set(err, -EINVAL, "%s: not an absolute path", path);
	dir = strndup(path, slash == path ? 1 : slash - path);
	w->path = strdup(path);
	if (!dir || !w->path) {
		stop(w);
		return err_set(err, -ENOMEM, "out of memory");
	}
	w->dir = inotify_add_watch(w->fd, dir, EVENTS);
	if (w->dir < 0) {
		err_set(err, -errno, "cannot watch %s: %s", dir, strerror(errno));
		stop(w);
		return -EIO;
	}
	return 1;
}

int rules_watch__changed(struct rules_watch *w)
{
	char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	const char *name = w->path ? strrchr(w->path, '/') + 1 : "";
	bool changed = false, gone = false;
	ssize_t n;

	while ((n = read(w->fd, events, sizeof(events))) > 0) {
		for (const char *p = events; p < events + n;) {
			const struct inotify_event *e = (const void *)p;
			bool ours = w->dir >= 0 && e->wd == w->dir;

			gone = gone || (ours && (e->mask & IN_IGNORED));
			/* what the queue had no room for may have been of our file */
			changed = changed || (w->path && (e->mask & IN_Q_OVERFLOW)) ||
				  (ours && e->len && strcmp(e->name, name) == 0);
			p += sizeof(*e) + e->len;
		}
	}
	if (!gone)
		return changed;
	w->dir = -1;
	stop(w);
	return -ESTALE;
}

void rules_watch__free(struct rules_watch *w)
{
	if (!w)
		return;
	free(w->path);
	close(w->fd);
	free(w);
}
