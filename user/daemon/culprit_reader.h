/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread that adds command line and cgroup of the culprit to the verdict in a manifest, if the
 * culprit's process still lives. Nobody waits for the thread. Life: start, submit as often as
 * needed, free.
 */
#ifndef FRBPF_DAEMON_CULPRIT_READER_H
#define FRBPF_DAEMON_CULPRIT_READER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "dump/base/base_dir.h"
#include "examine/examiner.h"

struct culprit_reader;

/*
 * Start the thread. @examiner reads command lines. Both are borrowed. 0 or negative errno with a
 * message in @err.
 */
int culprit_reader__start(struct examiner *examiner, const struct base_dir *base, struct err *err,
			  struct culprit_reader **ret);

/*
 * Have the thread complete the verdict @why, which the manifest of incident @name already has.
 * Copies @why and does not block. If too many verdicts wait, this one is left as it is.
 */
void culprit_reader__submit(struct culprit_reader *r, const char *name, const json_t *why);

/* Ends the thread; verdicts that wait are dropped. NULL is legal. */
void culprit_reader__free(struct culprit_reader *r);

/* ---- part, for tests ---- */

/*
 * Set "command" and "cgroup" of @why's culprit where they are unknown. Nothing is set if the
 * process was born after @end (ns, CLOCK_MONOTONIC), the end of the interval, or has another name
 * now. Returns whether anything was set.
 */
bool culprit_reader__complete(struct examiner *e, uint64_t end, json_t *why);

#endif
