/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Checks whether records contradict the wait that a trigger reports: did its subject run between
 * the beginning and the trigger? Lost records never make a contradiction, since only these cases
 * count:
 *
 * - the subject was switched in and then out, or out twice: a wait has one switch-out, at its
 *   beginning, and one switch-in, at its end;
 * - it went to sleep and was woken, though it waits for a CPU.
 *
 * A session without sched:sched_switch says nothing. A wait without a contradiction counts as
 * compared only if a session recorded every switch of it. Otherwise the trigger says why it could
 * not be compared.
 */
#ifndef FRBPF_DUMP_WINDOW_CONTRADICTION_H
#define FRBPF_DUMP_WINDOW_CONTRADICTION_H

#include "dump/incident/incident.h"
#include "dump/window/page_set.h"
#include "dump/window/timeline.h"

/*
 * Set `contradicted` (its time) and `compared` of the triggers of @inc from the samples of @s in
 * @t, which is sorted. @pages is of the same session. @res has the window, and keeps what
 * contradiction__look_merged() needs. 0 or -ENOMEM. The caller holds inc->name_lock.
 */
int contradiction__look(struct incident *inc, const struct session *s, struct page_set *pages,
			const struct timeline *t, struct dump_result *res);

/*
 * The same for triggers merged into @inc, whose results are complete. For the thread that collects
 * incidents.
 */
void contradiction__look_merged(struct incident *inc);

#endif
