/* SPDX-License-Identifier: GPL-2.0-only */
/* The tree of why for people, and for programs. */
#ifndef FRBPF_ANALYSE_WHY_WHY_TEXT_H
#define FRBPF_ANALYSE_WHY_WHY_TEXT_H

#include <jansson.h>

#include "analyse/why/why_verdict.h"

#define WHY_LINES 30 /* of the tree, unless all of it is asked for */

/* Append the tree, one line a node, those with a percent of the time or more; all: every one. 0 or -ENOMEM. */
int why_text__tree(struct buf *b, const struct why *w, why_duration_fn duration, bool all);

/* Object with verdict, causes and tree, see frbpf-why(1). NULL: out of memory. */
json_t *why_json__new(const struct why *w, const struct why_verdict *v);
/* The verdict alone, as it stands in a manifest. */
json_t *why_json__verdict(const struct why_verdict *v);

#endif
