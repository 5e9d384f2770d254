/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a rule's cooldown and max-dumps held back after an incident, into the manifest of that
 * incident: when the rule fires again, when its cooldown is over, at the end. For one thread.
 */
#ifndef FRBPF_DAEMON_HELD_LOG_H
#define FRBPF_DAEMON_HELD_LOG_H

#include "daemon/recorder.h"
#include "dump/base/base_dir.h"

struct held_log;

/* All borrowed. NULL: out of memory. */
struct held_log *held_log__new(const struct base_dir *base, struct recorder *r,
			       struct detectors *d);

/* @inc, whose manifest was written just now, for the first time or again. */
void held_log__incident(struct held_log *h, const struct incident *inc);
/* Write what is due. Returns ns until it is to be called again, or UINT64_MAX. */
uint64_t held_log__step(struct held_log *h);
/* Write all that is there: nothing fires any more. */
void held_log__finish(struct held_log *h);

void held_log__free(struct held_log *h);

#endif
