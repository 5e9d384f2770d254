// SPDX-License-Identifier: GPL-2.0-only
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "daemon/rules_watch.h"

/* A file that is open for writing is not complete: only its close counts. */
#define EVENTS (IN_CLOSE_WRITE | IN_MOVED_TO | IN_ONLYDIR)

struct rules_watch {
	int fd;
	char name[NAME_MAX + 1]; /* in its directory */
};

int rules_watch__open(const char *path, struct err *err, struct rules_watch **ret)
{
	const char *slash = strrchr(path, '/');
	struct rules_watch *w;
	char *dir;
	int code = 0;

	if (!slash || strlen(slash + 1) > NAME_MAX)
		return err_set(err, -EINVAL, "%s: not the path of a file", path);
	w = calloc(1, sizeof(*w));
	dir = strndup(path, slash == path ? 1 : slash - path);
	if (!w || !dir) {
		free(w);
		free(dir);
		return err_set(err, -ENOMEM, "out of memory");
	}
	strcpy(w->name, slash + 1);
	w->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (w->fd < 0 || inotify_add_watch(w->fd, dir, EVENTS) < 0)
		code = err_set(err, -errno, "cannot watch %s: %s", dir, strerror(errno));
	free(dir);
	if (code) {
		rules_watch__free(w);
		return code;
	}
	*ret = w;
	return 0;
}

int rules_watch__fd(const struct rules_watch *w)
{
	return w->fd;
}

int rules_watch__changed(struct rules_watch *w)
{
	char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	bool changed = false, gone = false;
	ssize_t n;

	while ((n = read(w->fd, events, sizeof(events))) > 0) {
		for (const char *p = events; p < events + n;) {
			const struct inotify_event *e = (const void *)p;

			gone = gone || (e->mask & IN_IGNORED);
			/* events that the queue had no room for may have been of our file */
			changed = changed || (e->mask & IN_Q_OVERFLOW) ||
				  (e->len && strcmp(e->name, w->name) == 0);
			p += sizeof(*e) + e->len;
		}
	}
	return gone ? -ESTALE : changed;
}

void rules_watch__free(struct rules_watch *w)
{
	if (!w)
		return;
	if (w->fd >= 0)
		close(w->fd);
	free(w);
}
