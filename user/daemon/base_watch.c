// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <syslog.h>
#include <unistd.h>

#include "daemon/base_watch.h"

int base_watch__open(const char *base)
{
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), code;

	if (fd >= 0 && inotify_add_watch(fd, base,
					 IN_DELETE | IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF |
						 IN_ONLYDIR | IN_DONT_FOLLOW) < 0) {
		code = -errno;
		close(fd);
		return code;
	}
	return fd < 0 ? -errno : fd;
}

void base_watch__report(const char *gone)
{
	syslog(LOG_DAEMON | LOG_ERR, "frbpf: %s was removed: recording ends", gone);
}

static bool base_is_lost(const struct inotify_event *e)
{
	if (e->mask & (IN_DELETE_SELF | IN_MOVE_SELF))
		return true;
	return e->len && (strcmp(e->name, "lock") == 0 || strcmp(e->name, "control") == 0);
}

bool base_watch__lost(int fd, const char *base, char *ret, size_t size)
{
	char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	const struct inotify_event *e;
	bool lost = false;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		for (const char *p = buf; p < buf + n; p += sizeof(*e) + e->len) {
			e = (const void *)p;
			if (lost || !base_is_lost(e))
				continue;
			lost = true;
			snprintf(ret, size, "%s%s%s", base, e->len ? "/" : "",
				 e->len ? e->name : "");
		}
	}
	return lost;
}
