/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records of many sources (rings, side band, markers) sorted by time. Each source is added oldest
 * first. It may be slightly out of order, as in perf: a record gets its time before its place in
 * the ring.
 */
#ifndef FRBPF_DUMP_WINDOW_TIMELINE_H
#define FRBPF_DUMP_WINDOW_TIMELINE_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

struct timeline_entry {
	uint64_t time;			     /* ns */
	const struct perf_event_header *rec; /* borrowed */
};

struct timeline {		  /* { 0 } is an empty one */
	struct timeline_entry *v; /* owned */
	size_t n, cap;
};

/* Append a record. 0 or -ENOMEM. */
int timeline__add(struct timeline *t, uint64_t time, const struct perf_event_header *rec);
/*
 * Append every record in [data, data + len). They are our own, or accepted by record__valid(). 0,
 * -EINVAL or -ENOMEM.
 */
int timeline__add_buffer(struct timeline *t, const void *data, size_t len);

/* Sort by time; records of equal time keep the order in which they were added. Natural merge sort:
 * n log(sources) for sources in order. 0 or -ENOMEM. */
int timeline__sort(struct timeline *t);

void timeline__free(struct timeline *t);

#endif
