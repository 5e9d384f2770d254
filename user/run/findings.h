/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the dumps of a run tell about its incidents: hot stacks, and why. A process that can only
 * read finds this, see confine/reading.h, and sends it as JSON: findings_json.h.
 */
#ifndef FRBPF_RUN_FINDINGS_H
#define FRBPF_RUN_FINDINGS_H

#include "dump/base/base_dir.h"
#include "run/outcome.h"

/* Read the dumps, and fill in the incidents of @o. If that fails, @o->unread says why. */
void findings__find(struct outcome *o, const struct base_dir *base);

#endif
