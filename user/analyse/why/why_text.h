/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints the tree of why for people, and as JSON for programs. */
#ifndef FRBPF_ANALYSE_WHY_WHY_TEXT_H
#define FRBPF_ANALYSE_WHY_WHY_TEXT_H

#include <jansson.h>

#include "analyse/why/why_verdict.h"

#define WHY_LINES 30 /* of the tree, unless all of it is requested */

/*
 * Append the tree, one line per node: nodes with at least a percent of the time, or all nodes if
 * @all. 0 or -ENOMEM.
 */
int why_text__tree(struct buf *b, const struct why *w, why_duration_fn duration, bool all);

/* An object with verdict, causes and tree, see frbpf-why(1). NULL: out of memory. */
json_t *why_json__new(const struct why *w, const struct why_verdict *v);
/* The verdict alone, as it is stored in a manifest. NULL: out of memory. */
json_t *why_json__verdict(const struct why_verdict *v);

#endif
