/* SPDX-License-Identifier: GPL-2.0-only */
/* From the incidents of the recorder to those of the outcome, which outlive it. */
#ifndef FRBPF_RUN_INCIDENT_NOTE_H
#define FRBPF_RUN_INCIDENT_NOTE_H

#include "dump/incident/incident.h"
#include "run/outcome.h"

/* The reason of the dump that no rule asked for. */
#define INCIDENT_NOTE_LAST "the last window of the run"

/* Note @inc, whose files are complete, or note it again with what was merged into it since. @base:
 * where its files are. 0 or -ENOMEM. */
int incident_note__take(struct outcome *o, const struct incident *inc, const char *base);
/* Note the files of @inc, which are there to be compared with and no incident of the run. 0 or -ENOMEM. */
int incident_note__take_rest(struct outcome *o, const struct incident *inc, const char *base);
/* Say in the log what fired the incident of this number, and which files were not written. */
void incident_note__log(const struct outcome *o, uint64_t number);

#endif
