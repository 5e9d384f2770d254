/* SPDX-License-Identifier: GPL-2.0-only */
/* Adds the answers of `frbpf why` to the incidents of a run. */
#ifndef FRBPF_RUN_INCIDENT_WHY_H
#define FRBPF_RUN_INCIDENT_WHY_H

#include "dump/base/base_dir.h"
#include "run/outcome.h"

/*
 * Set `why` and `verdict` of the worst incident of each rule that fired. Reads the dumps, and the
 * manifests below @base. Incidents that why cannot answer are left out.
 */
void incident_why__find(struct outcome *o, const struct base_dir *base);

#endif
