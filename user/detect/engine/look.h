/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Looks of a source at what is pending, for rules that are about that: see struct frbpf_look. They are made by the
 * thread of listeners, when something may have come to a threshold, but not more often than ten times in the lowest
 * one. While no rule in force is about that there are none, and no timer.
 */
#ifndef FRBPF_DETECT_LOOK_H
#define FRBPF_DETECT_LOOK_H

#include "detect/engine/source.h"

struct look;

/* Before rules are written to @s that are about what is pending: there is a look from then on, s->look. 0 or negative
 * errno; it may be called again. */
int look__prepare(struct source *s);

/* No look is at work between these two, so rules may be written and put in force. NULL is legal. */
void look__hold(struct look *l);
/* The rules in force decide when the next look is. */
void look__go_on(struct look *l);

/* Looks that the kernel refused, so far. For any thread. */
uint64_t look__failed(const struct look *l);

/* Before the programs go away. NULL is legal. */
void look__free(struct look *l);

#endif
