// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "dump/rings/horizon.h"
#include "dump/rings/ring_image.h"
#include "perfdata/record.h"

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

/* Like window__set_bounds(): the time from which all of its CPUs are complete. */
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

static void drop_oldest(struct ring_laps *l)
{
	memmove(&l->notes[0], &l->notes[1], --l->n * sizeof(l->notes[0]));
}

uint64_t ring_laps__note(struct ring_laps *l, uint64_t now, uint64_t written, size_t size)
{
	while (l->n && written - l->notes[0].written >= size) {
		l->from = l->notes[0].time;
		drop_oldest(l);
	}
	/*
	 * There is room: notes are at least a quarter of a ring apart, and the oldest is less than
	 * a ring old.
	 */
	if (!l->n || written - l->notes[l->n - 1].written >= size / (RING_LAPS_NOTES - 1)) {
		l->notes[l->n].time = now;
		l->notes[l->n++].written = written;
	}
	return l->from;
}

static int measure_ring(const struct session *s, const struct ring *ring, uint8_t *scratch,
			struct coverage *ret)
{
	uint64_t head = ring__head(ring);
	_cleanup_free_ const struct perf_event_header **v = NULL;
	struct ring_image img;
	size_t n, torn;

	ring_image__copy(scratch, ring__data(ring), ring->size, head);
	img = ring_image__make(scratch, ring->size, head, ring__head(ring));
	if (ring_image__records(&img, &v, &n, &torn))
		return -ENOMEM;
	ret->bytes = ring_image__filled(head, ring->size);
	ret->since = s->started;
	if (img.wrapped || torn)
		ret->since = n ? record__time(v[0]) : now_ns();
	return 0;
}

int coverage__measure(const struct session *s, struct coverage *ret)
{
	_cleanup_free_ uint8_t *scratch = NULL;
	int err = 0;

	if (!s->n_cpus || s->plain)
		return 0;
	scratch = malloc(s->cpus[0].ring.size); /* the rings of a session are of one size */
	if (!scratch)
		return -ENOMEM;
	for (size_t c = 0; !err && c < s->n_cpus; c++) {
		ret[c].cpu = s->cpus[c].cpu;
		err = measure_ring(s, &s->cpus[c].ring, scratch, &ret[c]);
	}
	return err;
}
