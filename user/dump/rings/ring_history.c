// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "dump/rings/ring_history.h"
#include "dump/rings/ring_image.h"
#include "perfdata/record.h"
#include "record/session.h"

void gap_log__add(struct gap_log *g, uint64_t paused, uint64_t resumed)
{
	size_t i = g->n++ % GAP_LOG_SIZE;

	g->v[i].paused = paused;
	g->v[i].resumed = resumed;
}

bool gap_log__find(const struct gap_log *g, uint64_t time, uint64_t *ret_paused,
		   uint64_t *ret_resumed)
{
	size_t n = g->n < GAP_LOG_SIZE ? g->n : GAP_LOG_SIZE;

	for (size_t k = 1; k <= n; k++) {
		size_t i = (g->n - k) % GAP_LOG_SIZE;

		if (g->v[i].paused <= time) {
			*ret_paused = g->v[i].paused;
			*ret_resumed = g->v[i].resumed;
			return true;
		}
	}
	return false;
}

static void drop_oldest_note(struct ring_laps *l)
{
	memmove(&l->notes[0], &l->notes[1], --l->n * sizeof(l->notes[0]));
}

uint64_t ring_laps__note(struct ring_laps *l, uint64_t now, uint64_t written, size_t size)
{
	while (l->n && written - l->notes[0].written >= size) {
		l->from = l->notes[0].time;
		drop_oldest_note(l);
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

static int measure_ring(const struct session *s, const struct ring *ring, uint8_t *room,
			struct coverage *ret)
{
	uint64_t head = ring__head(ring);
	_cleanup_free_ const struct perf_event_header **v = NULL;
	struct ring_image img;
	size_t n, torn;

	ring_image__copy(room, ring__data(ring), ring->size, head);
	img = ring_image__make(room, ring->size, head, ring__head(ring));
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
	_cleanup_free_ uint8_t *room = NULL;
	int err = 0;

	if (!s->n_cpus || s->plain)
		return 0;
	room = malloc(s->cpus[0].ring.size); /* the rings of a session are of one size */
	if (!room)
		return -ENOMEM;
	for (size_t c = 0; !err && c < s->n_cpus; c++) {
		ret[c].cpu = s->cpus[c].cpu;
		err = measure_ring(s, &s->cpus[c].ring, room, &ret[c]);
	}
	return err;
}
