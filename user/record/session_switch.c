// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "common/clock.h"
#include "record/session_core.h"
#include "record/session_switch.h"

/* Call with the lock held. */
static int switch_event(struct session *s, size_t e, bool on)
{
	unsigned long request = on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;
	int err = 0;

	for (size_t c = 0; c < s->n_cpus; c++) {
		for (size_t t = 0; t < s->n_targets; t++) {
			int fd = s->cpus[c].fds[t * s->events->n + e];

			if (fd >= 0 && ioctl(fd, request, 0) < 0)
				err = -errno;
		}
	}
	s->off[e] = !on;
	return err;
}

static bool all_off(const struct session *s)
{
	for (size_t e = 0; e < s->events->n; e++) {
		if (!s->off[e])
			return false;
	}
	return true;
}

int session__switch(struct session *s, const char *name, bool on)
{
	int err = -ENOENT;
	bool off;

	if (!s->off)
		s->off = calloc(s->events->n ?: 1, sizeof(*s->off));
	if (!s->off)
		return -ENOMEM;
	pthread_mutex_lock(&s->lock);
	for (size_t e = 0; e < s->events->n; e++) {
		if (name && strcmp(s->events->v[e].name, name) != 0)
			continue;
		err = err == -ENOENT ? 0 : err;
		err = switch_event(s, e, on) ?: err;
	}
	off = all_off(s);
	if (off && !s->off_since)
		s->off_since = now_ns();
	for (size_t c = 0; !off && s->off_since && c < s->n_cpus; c++)
		session_cpu__note_away(&s->cpus[c], s->off_since, now_ns());
	if (!off)
		s->off_since = 0;
	pthread_mutex_unlock(&s->lock);
	return err;
}
