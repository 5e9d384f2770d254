/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pending events that fired a rule are followed after their incident. When one ends, its final
 * value is written to the manifest. For one thread, except that the thread that consumes triggers
 * reports the ends.
 */
#ifndef FRBPF_DAEMON_FOLLOWED_LOG_H
#define FRBPF_DAEMON_FOLLOWED_LOG_H

#include "daemon/recorder.h"
#include "dump/base/base_dir.h"

struct followed_log;

/* All arguments are borrowed; from now on @d reports ends to the new log. NULL: out of memory. */
struct followed_log *followed_log__new(const struct base_dir *base, struct recorder *r,
				       struct detectors *d);

/* Note @inc, whose manifest was just written, for the first time or again. */
void followed_log__incident(struct followed_log *h, const struct incident *inc);
/* Write the ends that have come. The recorder's descriptor is readable when there are some. */
void followed_log__step(struct followed_log *h);

/* The detectors must no longer be consumed. NULL is legal. */
void followed_log__free(struct followed_log *h);

#endif
