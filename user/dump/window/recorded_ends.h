/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds both ends of what a trigger measured among the records of a session. These are entry and
 * exit of a system call, issue and completion of a block request, the tracepoints of a span; or the
 * hit itself. contradiction.h does the same for waits.
 *
 * A session counts only if it has every hit of the ends. It must record all tasks, without a
 * filter, lose nothing, and begin well before the event. A duration is then contradicted if
 *
 * - something that happens once at a time (a call of a task, a handler of a CPU) ended or began
 *   again in the middle of it;
 * - it began once, clearly later than the trigger says;
 * - its task was created in the middle of it.
 *
 * Missing events contradict nothing: other tracers can take events away from perf.
 */
#ifndef FRBPF_DUMP_WINDOW_RECORDED_ENDS_H
#define FRBPF_DUMP_WINDOW_RECORDED_ENDS_H

#include "dump/incident/incident.h"
#include "dump/window/page_set.h"
#include "dump/window/timeline.h"

/*
 * Set `contradicted` and `compared` of the triggers of @inc; part of contradiction__look(). 0 or
 * -ENOMEM.
 */
int recorded_ends__look(struct incident *inc, const struct session *s, struct page_set *pages,
			const struct timeline *t, const struct dump_result *res);

/* Are the ends, or hits, of this source events that a session can record? */
bool recorded_ends__has(enum frbpf_source source);

#endif
