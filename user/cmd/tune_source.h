/* SPDX-License-Identifier: GPL-2.0-only */
/* The source that `frbpf tune` measures, and the rule that is made of it. */
#ifndef FRBPF_CMD_TUNE_SOURCE_H
#define FRBPF_CMD_TUNE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rules/when.h"

/*
 * Why the source of @when cannot be measured, for a message; NULL: it can. @has_if: there is a
 * condition.
 */
const char *tune_source__refusal(const struct when *when, bool has_if);

/*
 * Turn @when into the source to measure: a threshold that follows the workload becomes a fixed one.
 * A pending event is measured when it ends, since it was pending until then.
 */
void tune_source__prepare(struct when *when);

/* The threshold of step @i (below TUNE_STEPS): ns; for a share of time, the sum in its window. */
uint64_t tune_source__step(const struct when *when, size_t i);

/* The length of the source in @text, a `when` that may end with a threshold. */
size_t tune_source__length(const char *text);

/*
 * Format the `when` of a rule on the source in @text with the threshold @ns; for a share of time,
 * @ns is from tune_source__step(). Returns @buf.
 */
const char *tune_source__line(const struct when *when, const char *text, uint64_t ns, char *buf,
			      size_t size);

#endif
