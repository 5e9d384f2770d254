/* SPDX-License-Identifier: GPL-2.0-only */
/* Counts of suppressed matches: how many, why, and after which incident. */
#ifndef FRBPF_DAEMON_SUPPRESSED_LOG_H
#define FRBPF_DAEMON_SUPPRESSED_LOG_H

#include <jansson.h>

#include "daemon/recorder.h"
#include "dump/base/base_dir.h"

/*
 * Counts of a rule by cause, as in status and reports: {"cooldown": 3, ...}. Owned by the caller;
 * NULL: out of memory.
 */
json_t *suppressed__json(const struct frbpf_rule_state *st);

/*
 * Writes what a rule's cooldown and max-dumps suppressed after an incident into the manifest of
 * that incident. It does so when the rule fires again, when its cooldown ends, and at the end. For
 * one thread.
 */
struct suppressed_log;

/* All arguments are borrowed. NULL: out of memory. */
struct suppressed_log *suppressed_log__new(const struct base_dir *base, struct recorder *r,
					   struct detectors *d);

/* Note @inc, whose manifest was just written, for the first time or again. */
void suppressed_log__incident(struct suppressed_log *h, const struct incident *inc);
/* Write the manifests that are due. Returns ns until the next call, or UINT64_MAX. */
uint64_t suppressed_log__step(struct suppressed_log *h);
/* Write everything. Call it once rules can no longer fire. */
void suppressed_log__finish(struct suppressed_log *h);

void suppressed_log__free(struct suppressed_log *h);

#endif
