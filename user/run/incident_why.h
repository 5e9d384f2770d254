/* SPDX-License-Identifier: GPL-2.0-only */
/* What `frbpf why` says of the incidents of a run, for its reports and manifests. */
#ifndef FRBPF_RUN_INCIDENT_WHY_H
#define FRBPF_RUN_INCIDENT_WHY_H

#include "dump/base/base_dir.h"
#include "run/outcome.h"

/* Set `why` of one incident for each rule that fired, its worst, and in its manifest. Reads the dumps; what
 * cannot be answered is left out. */
void incident_why__find(struct outcome *o, const struct base_dir *base);

#endif
