// SPDX-License-Identifier: GPL-2.0-only
/*
 * The event of a task gets EPOLLHUP when the task has ended and no child that inherited it is left:
 * is_event_hup() in kernel/events/core.c.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "record/session.h"

struct target_end {
	int epoll;
	size_t alive; /* targets that have not ended */
};

/* Find the first event of target @i on any CPU; -1: none is open. */
static int first_event(const struct session *s, size_t i)
{
	for (size_t c = 0; c < s->n_cpus; c++) {
		int fd = s->cpus[c].fds ? s->cpus[c].fds[i * s->events->n] : -1;

		if (fd >= 0)
			return fd;
	}
	return -1;
}

int target_end__new(const struct session *s, struct target_end **ret)
{
	struct target_end *t = calloc(1, sizeof(*t));
	int err = 0;

	if (!t)
		return -ENOMEM;
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (t->epoll < 0)
		err = -errno;
	for (size_t i = 0; !err && i < s->n_targets; i++) {
		/* no events: EPOLLHUP is always reported, and records must not wake us up */
		struct epoll_event ev = { .data.fd = first_event(s, i) };

		if (ev.data.fd < 0)
			continue;
		if (epoll_ctl(t->epoll, EPOLL_CTL_ADD, ev.data.fd, &ev) < 0)
			err = -errno;
		t->alive++;
	}
	if (err) {
		target_end__free(t);
		return err;
	}
	*ret = t;
	return 0;
}

int target_end__fd(const struct target_end *t)
{
	return t->epoll;
}

bool target_end__reached(struct target_end *t)
{
	struct epoll_event ev[16];
	int n;

	while (t->alive && (n = epoll_wait(t->epoll, ev, 16, 0)) > 0) {
		for (int i = 0; i < n; i++) {
			epoll_ctl(t->epoll, EPOLL_CTL_DEL, ev[i].data.fd, NULL);
			t->alive--;
		}
	}
	return !t->alive;
}

void target_end__free(struct target_end *t)
{
	if (!t)
		return;
	if (t->epoll >= 0)
		close(t->epoll);
	free(t);
}
