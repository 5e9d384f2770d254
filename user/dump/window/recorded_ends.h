/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The two ends of what a trigger measured, looked for among what a session recorded: the entry and exit of a system
 * call, the issue and completion of a block request, the two tracepoints of a span; of a hit, the hit itself. Waits are
 * those of contradiction.h.
 *
 * A session counts if it has every hit of the ends: of all tasks, without a filter, nothing lost, from well before the
 * beginning on. Then a duration is contradicted where
 *
 *  - what happens once at a time (a call of a task, a handler of a CPU) ended or began once more in the middle of it;
 *  - it began once, clearly later than the trigger says;
 *  - its task was born in the middle of it.
 *
 * Events that are not there contradict nothing: others may keep them from perf.
 */
#ifndef FRBPF_DUMP_WINDOW_RECORDED_ENDS_H
#define FRBPF_DUMP_WINDOW_RECORDED_ENDS_H

#include "dump/incident/incident.h"
#include "dump/window/page_set.h"
#include "dump/window/timeline.h"

/* Set `contradicted` and `compared` of the triggers of @inc, as contradiction__look() does, which calls this. 0 or
 * -ENOMEM. */
int recorded_ends__look(struct incident *inc, const struct session *s, struct page_set *pages,
			const struct timeline *t, const struct dump_result *res);

/* Is it a source whose ends, or hits, are events that a session can record? */
bool recorded_ends__has(enum frbpf_source source);

#endif
