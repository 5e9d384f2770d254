/* SPDX-License-Identifier: GPL-2.0-only */
/* Asks why about an incident, by its manifest or by a dump alone. */
#ifndef FRBPF_ANALYSE_WHY_WHY_INCIDENT_H
#define FRBPF_ANALYSE_WHY_WHY_INCIDENT_H

#include <jansson.h>

#include "analyse/why/why_verdict.h"

/*
 * Ask about the first trigger of @manifest, using the dumps of its sessions. A dump that is not at
 * its recorded path is searched below @base, the directory that has incidents/. The caller
 * frees *ret. -ENODATA: the incident has no subject, or the dumps cannot answer; otherwise errors
 * of why__add_file(). Message in @err.
 */
int why_incident__ask(const json_t *manifest, const char *base, struct err *err, struct why **ret);

/* The same for a dump, by the trigger in its marker. */
int why_incident__ask_dump(const char *path, struct err *err, struct why **ret);

/*
 * Fill @q with what @manifest knows, beyond events, about the subject of the trigger at @q->to:
 * quota, owner, policy.
 */
void why_incident__fill_question(const json_t *manifest, struct why_question *q);

/*
 * The verdict as it is stored in a manifest, see why_json__verdict(). Without a verdict: an object
 * with "cause": "unknown" and a "verdict" that says why. NULL: out of memory.
 */
json_t *why_incident__verdict(const json_t *manifest, const char *base, why_duration_fn duration);

/*
 * `kernel_symbols` for @manifest, from its dumps and the symbols of this machine: kernel_names.h.
 * NULL: none.
 */
json_t *why_incident__kernel_symbols(const json_t *manifest, const char *base);

#endif
