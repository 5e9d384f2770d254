/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private perf events on a tracepoint, one on each online CPU, with small rings that wake the
 * reader at each event. Life: open (disabled), enable, read whenever a descriptor is readable,
 * close.
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

/*
 * Open the events of the tracepoint @id. @filter: in the syntax of the kernel; "": none. If the
 * kernel refuses the filter, the events have none. 0, or negative errno with a message in @err.
 */
int event_ring__open(uint64_t id, const char *filter, struct event_ring **ret, struct err *err);

/* Did CPUs come or go since open? Then some may have no event. */
bool event_ring__is_stale(const struct event_ring *r);

/* The number of rings, and the descriptor of ring @i, which is readable when it has samples. */
size_t event_ring__n(const struct event_ring *r);
int event_ring__fd(const struct event_ring *r, size_t i);

/* Enable (@on) or disable the events on all CPUs. */
void event_ring__enable(struct event_ring *r, bool on);

/* Call @fn with the samples of ring @i. Returns the number of lost events. */
uint64_t event_ring__read(struct event_ring *r, size_t i,
			  void (*fn)(const struct event_sample *s, void *arg), void *arg);

void event_ring__close(struct event_ring *r);

#endif
