/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hits that two perf events of one tracepoint may both have recorded, while one takes the place of the
 * other. Each notes a hit's time for itself, the younger event first: so a hit of the younger one is that
 * of the older one with the same task, CPU and content that is the next in time.
 */
#ifndef FRBPF_DETECT_SEEN_HITS_H
#define FRBPF_DETECT_SEEN_HITS_H

#include <stdbool.h>

#include "detect/inject/event_ring.h"

struct seen_hits;

/* NULL: out of memory. */
struct seen_hits *seen_hits__new(void);
/* The older event has this one. */
void seen_hits__add(struct seen_hits *h, const struct event_sample *s);
/* Were there more than there is room for? */
bool seen_hits__overflowed(const struct seen_hits *h);
/* Has it been added? Each is taken once. */
bool seen_hits__take(struct seen_hits *h, const struct event_sample *s);
void seen_hits__free(struct seen_hits *h);

#endif
