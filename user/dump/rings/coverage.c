// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "dump/rings/coverage.h"
#include "dump/rings/ring_image.h"
#include "perfdata/record.h"

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
