// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "dump/rings/ring_laps.h"

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
