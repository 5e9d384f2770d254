/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A private perf event on a tracepoint, one on each online CPU, on small rings that wake up with every
 * event. Life: open (nothing is recorded yet), enable, read as often as a descriptor is readable, close.
 */
#ifndef FRBPF_DETECT_EVENT_RING_H
#define FRBPF_DETECT_EVENT_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct event_ring;

struct event_sample {
	uint64_t time; /* ns, CLOCK_MONOTONIC */
	uint32_t pid, tid, cpu;
	const char *raw; /* valid during the call only */
	size_t size;
};

/* @id is that of the tracepoint; @filter as the kernel takes it, "" for none. One that the kernel
 * refuses is left out. 0, or negative errno with words in @err. */
int event_ring__open(uint64_t id, const char *filter, struct event_ring **ret, struct err *err);

/* CPUs have come or gone since: it may not be on all of them. */
bool event_ring__is_stale(const struct event_ring *r);

size_t event_ring__n(const struct event_ring *r);
int event_ring__fd(const struct event_ring *r, size_t i);

void event_ring__enable(struct event_ring *r, bool on);

/* Hand the samples of ring @i to @fn. Returns how many events were lost. */
uint64_t event_ring__read(struct event_ring *r, size_t i,
			  void (*fn)(const struct event_sample *s, void *arg), void *arg);

void event_ring__close(struct event_ring *r);

#endif
