/* SPDX-License-Identifier: GPL-2.0-only */
/* What to look at next, after the verdict of why: a command, a file, or what to record. */
#ifndef FRBPF_ANALYSE_WHY_WHY_NEXT_H
#define FRBPF_ANALYSE_WHY_WHY_NEXT_H

#include "analyse/why/why_verdict.h"

/*
 * Append what to look at to the empty @b: one printable line. @v is complete except for its `next`.
 * 0 or -ENOMEM.
 */
int why_next__add(struct buf *b, const struct why *w, const struct why_verdict *v);

#endif
