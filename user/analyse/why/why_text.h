/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints the tree of why for people, and as JSON for programs. */
#ifndef FRBPF_ANALYSE_WHY_WHY_TEXT_H
#define FRBPF_ANALYSE_WHY_WHY_TEXT_H

#include <jansson.h>

#include "analyse/why/why_verdict.h"

#define WHY_LINES 30 /* of the tree, where there is no screen */

struct why_screen {
	size_t lines;	/* for verdict and tree */
	size_t columns; /* longer lines are wrapped; 0: they are not */
};

/*
 * Append the verdict, and the tree with one line per node. @screen: only nodes with a large enough
 * share of the time. It is the smallest share, from 1 % on, at which the tree leaves room for a
 * prompt. NULL: all nodes, with the time when each began, and all functions. 0 or -ENOMEM.
 */
int why_text__answer(struct buf *b, const struct why *w, const struct why_verdict *v,
		     why_duration_fn duration, const struct why_screen *screen);

/* An object with verdict, causes and tree, see frbpf-why(1). NULL: out of memory. */
json_t *why_json__new(const struct why *w, const struct why_verdict *v);
/* The verdict alone, as it is stored in a manifest. NULL: out of memory. */
json_t *why_json__verdict(const struct why_verdict *v);

#endif
