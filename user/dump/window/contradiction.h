/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether what was recorded contradicts the wait that a trigger tells of: its subject ran between
 * the beginning and the trigger. Only what cannot be otherwise counts, so records that were lost
 * never make a contradiction:
 *
 *  - the subject was switched in and then out, or out twice: a wait has one switch-out, at its
 *    beginning, and one switch-in, at its end;
 *  - it went to sleep and was woken, where the wait is for a CPU.
 *
 * A session without sched:sched_switch tells nothing. A wait that nothing contradicts was compared
 * only if a session saw every switch of it; else the trigger says why that cannot be told.
 */
#ifndef FRBPF_DUMP_WINDOW_CONTRADICTION_H
#define FRBPF_DUMP_WINDOW_CONTRADICTION_H

#include "dump/incident/incident.h"
#include "dump/window/page_set.h"
#include "dump/window/timeline.h"

/* Set `contradicted` of the triggers of @inc to when that was seen, and `compared`, from the samples
 * of @s in @t, which is in order. @pages is of the same session. @res has the window and keeps what
 * contradiction__look_merged() needs. 0 or -ENOMEM. The caller holds inc->name_lock. */
int contradiction__look(struct incident *inc, const struct session *s, struct page_set *pages,
			const struct timeline *t, struct dump_result *res);

/* The same for triggers that were merged into @inc, whose results are complete. For its collector. */
void contradiction__look_merged(struct incident *inc);

#endif
