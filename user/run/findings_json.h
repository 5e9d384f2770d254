/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The findings in the incidents of a run as JSON. The process that reads the dumps sends it to the
 * one that writes the reports, which trusts none of it.
 */
#ifndef FRBPF_RUN_FINDINGS_JSON_H
#define FRBPF_RUN_FINDINGS_JSON_H

#include <jansson.h>

#include "run/outcome.h"

/* The findings in the incidents of @o. Owned by the caller; NULL: out of memory. */
json_t *findings__json(const struct outcome *o);
/*
 * Fill in the incidents of @o. @j may come from a process that was taken over. 0, -EBADMSG or
 * -ENOMEM; then some are filled in.
 */
int findings__take(const json_t *j, struct outcome *o);

#endif
