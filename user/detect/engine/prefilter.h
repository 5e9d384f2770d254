/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The prefilter of rules without a threshold: one or two comparisons. Every event that satisfies
 * the condition of a rule passes them, so the programs can return at once for the others.
 */
#ifndef FRBPF_DETECT_PREFILTER_H
#define FRBPF_DETECT_PREFILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"

/*
 * Make the prefilter of @rules. Their globs are indexes of @patterns; @wide has a bit for each
 * field with values of two words. Without rules, or if they have nothing in common, everything
 * passes.
 */
void prefilter__make(const struct frbpf_rule *rules, size_t n, const char *const *patterns,
		     uint32_t wide, struct frbpf_prefilter *ret);

/* Does an event with the values val[field] pass? Same as in the programs. */
bool prefilter__passes(const struct frbpf_prefilter *g, const __u64 (*val)[2]);

#endif
