/* SPDX-License-Identifier: GPL-2.0-only */
/* Copies incidents of the recorder into the outcome, which outlives them. */
#ifndef FRBPF_RUN_INCIDENT_NOTE_H
#define FRBPF_RUN_INCIDENT_NOTE_H

#include "dump/incident/incident.h"
#include "run/outcome.h"

/* The reason of a dump that no rule caused */
#define INCIDENT_NOTE_LAST "the last window of the run"

/*
 * Note @inc, whose files are complete. Call it again when more triggers were merged into it. @base:
 * the path with its files. 0 or -ENOMEM.
 */
int incident_note__take(struct outcome *o, const struct incident *inc, const char *base);
/*
 * Note the files of @inc as outcome.rest: they are only for comparison, not an incident of the run.
 * 0 or -ENOMEM.
 */
int incident_note__take_rest(struct outcome *o, const struct incident *inc, const char *base);
/* Log what fired incident @number, and which files were not written. */
void incident_note__log(const struct outcome *o, uint64_t number);

#endif
