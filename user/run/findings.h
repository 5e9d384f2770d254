/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the dumps of a run tell about its incidents: hot stacks, and why. A process that can only
 * read finds this (confine/reading.h). It sends its findings as JSON to the process that writes the
 * reports. That process trusts none of them.
 */
#ifndef FRBPF_RUN_FINDINGS_H
#define FRBPF_RUN_FINDINGS_H

#include <jansson.h>

#include "dump/base/base_dir.h"
#include "run/outcome.h"

/* Read the dumps, and fill in the incidents of @o. If that fails, @o->unread says why. */
void findings__find(struct outcome *o, const struct base_dir *base);

/* The findings in the incidents of @o. Owned by the caller; NULL: out of memory. */
json_t *findings__json(const struct outcome *o);
/*
 * Fill in the incidents of @o. @j may come from a process that was taken over. 0, -EBADMSG or
 * -ENOMEM. After an error, some incidents are filled in and others are not.
 */
int findings__take(const json_t *j, struct outcome *o);

#endif
