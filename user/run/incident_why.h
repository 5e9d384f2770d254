/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Adds the answers of `frbpf why` to the incidents of a run. The questions are prepared where
 * manifests can be read; the dumps are read in the process that can only read.
 */
#ifndef FRBPF_RUN_INCIDENT_WHY_H
#define FRBPF_RUN_INCIDENT_WHY_H

#include <stddef.h>

#include "analyse/why/why.h"
#include "dump/base/base_dir.h"
#include "run/outcome.h"

struct incident_question {
	struct run_incident *inc; /* of the outcome */
	struct why_question q;
};

/*
 * List the incidents that rules caused, with what their manifests below @base say: first the worst
 * of each rule, which the reports show. @ret has room for all. Returns their number.
 */
size_t incident_why__prepare(struct outcome *o, const struct base_dir *base,
			     struct incident_question *ret);

/*
 * Set `why` and `verdict` of the @n incidents of @v. Reads the dumps. Leaves out incidents without
 * an answer, and all further ones after half a minute of CPU time.
 */
void incident_why__find(const struct outcome *o, const struct incident_question *v, size_t n);

/* Set `kernel_symbols` of incidents that have a verdict. Reads the dumps. */
void incident_symbols__find(const struct outcome *o, const struct incident_question *v, size_t n);

#endif
