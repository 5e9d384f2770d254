// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "detect/psi_meter.h"
#include "rules/units.h"

void psi_meter__add(struct psi_meter *m, uint64_t time, uint64_t total_us)
{
	if (m->n == PSI_METER_READINGS) {
		memmove(m->v, m->v + 1, (PSI_METER_READINGS - 1) * sizeof(m->v[0]));
		m->n--;
	}
	m->v[m->n++] = (struct psi_reading){ time, total_us };
}

/*
 * Estimate total= at the start of the window. Between two readings that are close in time, it is
 * taken to have grown evenly. Between distant ones, it is taken to have grown only at the end:
 * otherwise the kernel would have reported pressure earlier.
 */
static uint64_t total_at(const struct psi_meter *m, uint64_t begin, uint64_t window)
{
	size_t i = m->n - 1;
	const struct psi_reading *a, *b;

	while (i && m->v[i].time > begin)
		i--;
	a = &m->v[i];
	if (a->time >= begin || i + 1 == m->n)
		return a->total;
	b = &m->v[i + 1];
	if (b->time - a->time > 2 * window)
		return a->total;
	return a->total +
	       (unsigned __int128)(b->total - a->total) * (begin - a->time) / (b->time - a->time);
}

uint64_t psi_meter__stall(const struct psi_meter *m, uint64_t window, uint64_t least)
{
	const struct psi_reading *last = &m->v[m->n - 1];
	uint64_t begin = last->time > window ? last->time - window : 0, stall;

	stall = (last->total - total_at(m, begin, window)) * NSEC_PER_USEC;
	if (stall < least)
		return least;
	return stall < window ? stall : window;
}

uint64_t psi_meter__stall_at_most(const struct psi_meter *m, uint64_t window)
{
	size_t i = m->n;

	while (i-- > 0) {
		const struct psi_reading *last = &m->v[m->n - 1];

		if (last->time - m->v[i].time >= window)
			return (last->total - m->v[i].total) * NSEC_PER_USEC;
	}
	return UINT64_MAX;
}
