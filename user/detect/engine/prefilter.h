/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The prefilter of rules without a threshold: one or two comparisons that every event passes for which a
 * rule's condition holds, so that programs can end at once for the others.
 */
#ifndef FRBPF_DETECT_PREFILTER_H
#define FRBPF_DETECT_PREFILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frbpf.h"

/* Of @rules, whose globs are patterns[] by index; @wide has a bit for each field whose values take two
 * words. Without rules, or where they have nothing in common, everything passes. */
void prefilter__make(const struct frbpf_rule *rules, size_t n, const char *const *patterns,
		     uint32_t wide, struct frbpf_prefilter *ret);

/* As the programs do it: does an event with these values, of struct frbpf_rule's fields, pass? */
bool prefilter__passes(const struct frbpf_prefilter *g, const __u64 (*val)[2]);

#endif
