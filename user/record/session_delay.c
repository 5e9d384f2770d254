// SPDX-License-Identifier: GPL-2.0-only
/* Sessions with -D record in some ranges of time only. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "record/session_core.h"
#include "record/session_switch.h"
#include "rules/units.h"

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
static bool wait_until(struct session_delay *d, uint64_t ns)
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

		if (!wait_until(s->delay, begun + r->from))
			return NULL;
		session__switch(s, NULL, true);
		if (r->to == UINT64_MAX || !wait_until(s->delay, begun + r->to))
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
	if (s->target.delay[0].from == UINT64_MAX) /* the control fifo enables the events */
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
