// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "detect/write_times.h"

static void write_time_add(struct write_times *w, uint64_t begin)
{
	if (w->n == WRITE_TIMES_MAX) {
		w->v[1].begin = w->v[0].begin;
		memmove(w->v, w->v + 1, (WRITE_TIMES_MAX - 1) * sizeof(w->v[0]));
		w->n--;
	}
	w->v[w->n++] = (struct write_time){ begin, UINT64_MAX };
}

void write_times__note(struct write_times *w, bool on, uint64_t now)
{
	bool was_on;

	pthread_mutex_lock(&w->lock);
	was_on = w->n && w->v[w->n - 1].end == UINT64_MAX;
	if (on && !was_on)
		write_time_add(w, now);
	else if (!on && was_on)
		w->v[w->n - 1].end = now;
	pthread_mutex_unlock(&w->lock);
}

uint64_t write_times__within(struct write_times *w, uint64_t from, uint64_t to)
{
	uint64_t sum = 0;

	pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < w->n; i++) {
		uint64_t begin = w->v[i].begin > from ? w->v[i].begin : from;
		uint64_t end = w->v[i].end < to ? w->v[i].end : to;

		sum += begin < end ? end - begin : 0;
	}
	pthread_mutex_unlock(&w->lock);
	return sum;
}
