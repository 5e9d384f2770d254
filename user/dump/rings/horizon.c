// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "common/clock.h"
#include "dump/rings/horizon.h"
#include "dump/rings/ring_history.h"

/* A record that is written while a head is read may be this much older than its position says. */
#define IN_FLIGHT_NS 1000000000ULL

struct watched {
	struct watched *next;
	struct session *session;
	struct ring_laps laps[]; /* one per CPU */
};

struct horizon {
	pthread_mutex_t lock;
	struct watched *sessions; /* owned */
};

int horizon__new(struct horizon **ret)
{
	struct horizon *h = calloc(1, sizeof(*h));
	pthread_mutexattr_t attr;

	if (!h)
		return -ENOMEM;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&h->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	*ret = h;
	return 0;
}

void horizon__free(struct horizon *h)
{
	struct watched *w, *next;

	if (!h)
		return;
	for (w = h->sessions; w; w = next) {
		next = w->next;
		free(w);
	}
	pthread_mutex_destroy(&h->lock);
	free(h);
}

int horizon__add(struct horizon *h, struct session *s)
{
	struct watched *w = calloc(1, sizeof(*w) + s->max_cpus * sizeof(w->laps[0]));

	if (!w)
		return -ENOMEM;
	w->session = s;
	pthread_mutex_lock(&h->lock);
	w->next = h->sessions;
	h->sessions = w;
	pthread_mutex_unlock(&h->lock);
	return 0;
}

void horizon__remove(struct horizon *h, const struct session *s)
{
	struct watched **link, *w;

	pthread_mutex_lock(&h->lock);
	for (link = &h->sessions; *link && (*link)->session != s; link = &(*link)->next)
		;
	w = *link;
	if (w)
		*link = w->next;
	pthread_mutex_unlock(&h->lock);
	free(w);
}

/* The time from which all CPUs of the session are complete, as in window__set_bounds(). */
static uint64_t complete_from(struct watched *w)
{
	uint64_t from = w->session->started, ring;
	size_t c;

	for (c = 0; c < w->session->n_cpus; c++) {
		const struct ring *r = &w->session->cpus[c].ring;

		ring = ring_laps__note(&w->laps[c], now_ns(), -ring__head(r), r->size);
		if (ring > from)
			from = ring;
	}
	return from;
}

void horizon__each_session(struct horizon *h, void (*fn)(struct session *s, void *arg), void *arg)
{
	pthread_mutex_lock(&h->lock);
	for (struct watched *w = h->sessions; w; w = w->next)
		fn(w->session, arg);
	pthread_mutex_unlock(&h->lock);
}

uint64_t horizon__measure(struct horizon *h)
{
	uint64_t earliest, from;
	struct watched *w;

	pthread_mutex_lock(&h->lock);
	earliest = now_ns();
	for (w = h->sessions; w; w = w->next) {
		from = complete_from(w);
		if (from < earliest)
			earliest = from;
	}
	pthread_mutex_unlock(&h->lock);
	return earliest > IN_FLIGHT_NS ? earliest - IN_FLIGHT_NS : 0;
}
