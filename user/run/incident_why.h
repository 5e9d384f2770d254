/* SPDX-License-Identifier: GPL-2.0-only */
/* Adds the answers of `frbpf why` to the incidents of a run. */
#ifndef FRBPF_RUN_INCIDENT_WHY_H
#define FRBPF_RUN_INCIDENT_WHY_H

#include "analyse/why/why_incident.h"
#include "dump/base/base_dir.h"
#include "run/outcome.h"

#define INCIDENT_WHY_MAX 10 /* incidents asked about */

struct incident_question {
	struct run_incident *inc; /* of the outcome */
	struct why_question q;
};

/*
 * List the worst incident of each rule that fired, with what the manifests below @base know of it.
 * Returns how many.
 */
size_t incident_why__prepare(struct outcome *o, const struct base_dir *base,
			     struct incident_question ret[static INCIDENT_WHY_MAX]);

/*
 * Set `why` and `verdict` of these incidents. Reads the dumps. Incidents that why cannot answer are
 * left out.
 */
void incident_why__find(const struct outcome *o, const struct incident_question *v, size_t n);

#endif
