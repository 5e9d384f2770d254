/* SPDX-License-Identifier: GPL-2.0-only */
/* Matches that were suppressed: how many, by what, and after which incident. */
#ifndef FRBPF_DAEMON_SUPPRESSED_H
#define FRBPF_DAEMON_SUPPRESSED_H

#include <jansson.h>

#include "daemon/recorder.h"
#include "dump/base/base_dir.h"

/* The counts of a rule by cause, as status and reports tell them: {"cooldown": 3, ...}. Owned by the caller; NULL: out of
 * memory. */
json_t *suppressed__json(const struct frbpf_rule_state *st);

/*
 * Writes what a rule's cooldown and max-dumps suppressed after an incident into the manifest of that incident: when the
 * rule fires again, when its cooldown is over, at the end. For one thread.
 */
struct suppressed_log;

/* All borrowed. NULL: out of memory. */
struct suppressed_log *suppressed_log__new(const struct base_dir *base, struct recorder *r,
					   struct detectors *d);

/* @inc, whose manifest was written just now, for the first time or again. */
void suppressed_log__incident(struct suppressed_log *h, const struct incident *inc);
/* Write what is due. Returns ns until it is to be called again, or UINT64_MAX. */
uint64_t suppressed_log__step(struct suppressed_log *h);
/* Write all that is there: nothing fires any more. */
void suppressed_log__finish(struct suppressed_log *h);

void suppressed_log__free(struct suppressed_log *h);

#endif
