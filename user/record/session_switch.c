// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "common/clock.h"
#include "record/session_core.h"
#include "rules/units.h"

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

static bool all_events_disabled(const struct session *s)
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
	off = all_events_disabled(s);
	if (off && !s->off_since)
		s->off_since = now_ns();
	for (size_t c = 0; !off && s->off_since && c < s->n_cpus; c++)
		session_cpu__note_away(&s->cpus[c], s->off_since, now_ns());
	if (!off)
		s->off_since = 0;
	pthread_mutex_unlock(&s->lock);
	return err;
}

/* Sessions with -D record in some ranges of time only. */

struct session_delay {
	pthread_t thread;
	pthread_mutex_t lock; /* protects stopped */
	pthread_cond_t wake;
	bool stopped, running;
};

int session_delay__keep(struct session *s, const struct record_target *target)
{
	struct delay_range *v;

	if (!target->n_delay)
		return 0;
	v = calloc(target->n_delay, sizeof(*v));
	if (!v)
		return -ENOMEM;
	memcpy(v, target->delay, target->n_delay * sizeof(*v));
	s->target.delay = v;
	s->target.n_delay = target->n_delay;
	return 0;
}

/* Wait until @ns. False: the thread shall stop. */
static bool wait_until_switch(struct session_delay *d, uint64_t ns)
{
	struct timespec at = { .tv_sec = ns / NSEC_PER_SEC, .tv_nsec = ns % NSEC_PER_SEC };
	bool stopped;

	pthread_mutex_lock(&d->lock);
	while (!d->stopped && now_ns() < ns)
		pthread_cond_timedwait(&d->wake, &d->lock, &at);
	stopped = d->stopped;
	pthread_mutex_unlock(&d->lock);
	return !stopped;
}

static void *delay_thread(void *arg)
{
	struct session *s = arg;
	uint64_t begun = s->started;

	for (size_t i = 0; i < s->target.n_delay; i++) {
		const struct delay_range *r = &s->target.delay[i];

		if (!wait_until_switch(s->delay, begun + r->from))
			return NULL;
		session__switch(s, NULL, true);
		if (r->to == UINT64_MAX || !wait_until_switch(s->delay, begun + r->to))
			return NULL;
		session__switch(s, NULL, false);
	}
	return NULL;
}

int session_delay__start(struct session *s, struct err *err)
{
	struct session_delay *d;
	pthread_condattr_t attr;
	int code = session__switch(s, NULL, false);

	if (code)
		return err_set(err, code, "cannot disable the events: %s", strerror(-code));
	if (s->target.delay[0].from == UINT64_MAX) /* -D -1: only the control fifo enables them */
		return 0;
	d = calloc(1, sizeof(*d));
	if (!d)
		return err_set(err, -ENOMEM, "out of memory");
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->wake, &attr);
	pthread_condattr_destroy(&attr);
	s->delay = d;
	code = pthread_create(&d->thread, NULL, delay_thread, s);
	d->running = !code;
	return code ? err_set(err, -code, "cannot start a thread: %s", strerror(code)) : 0;
}

void session_delay__stop(struct session *s)
{
	struct session_delay *d = s->delay;

	if (d) {
		pthread_mutex_lock(&d->lock);
		d->stopped = true;
		pthread_cond_signal(&d->wake);
		pthread_mutex_unlock(&d->lock);
		if (d->running)
			pthread_join(d->thread, NULL);
		pthread_cond_destroy(&d->wake);
		pthread_mutex_destroy(&d->lock);
		free(d);
	}
	free((void *)s->target.delay);
	s->delay = NULL;
	s->target.delay = NULL;
}
