/* SPDX-License-Identifier: GPL-2.0-only */
/* What why is asked about an incident: by its manifest, or by a dump alone. */
#ifndef FRBPF_ANALYSE_WHY_WHY_INCIDENT_H
#define FRBPF_ANALYSE_WHY_WHY_INCIDENT_H

#include <jansson.h>

#include "analyse/why/why_verdict.h"

/*
 * Ask about the first trigger of @manifest, with the dumps of its sessions. A dump that is not where the
 * manifest says is looked for below @base, the folder that has incidents/. *ret is the caller's.
 * -ENODATA: the incident has no subject, or nothing there can answer; or errors of why__add_file(); with words.
 */
int why_incident__ask(const json_t *manifest, const char *base, struct err *err, struct why **ret);

/* The same of a dump, by the trigger that its marker tells. */
int why_incident__ask_dump(const char *path, struct err *err, struct why **ret);

/* Put into @q what @manifest knows beside events of the subject of the trigger at @q->to: quota, owner, policy. */
void why_incident__tell(const json_t *manifest, struct why_question *q);

/*
 * The verdict as it stands in a manifest, see why_json__verdict(). Where there is none: an object with
 * "verdict" and "cause": "unknown" that says why not. NULL: out of memory.
 */
json_t *why_incident__verdict(const json_t *manifest, const char *base, why_duration_fn duration);

#endif
