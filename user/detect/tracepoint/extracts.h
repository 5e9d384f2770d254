/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the values lie that the rules of a table ask for: by slot, as the programs of any tracepoint
 * take them. */
#ifndef FRBPF_DETECT_EXTRACTS_H
#define FRBPF_DETECT_EXTRACTS_H

#include "common/err.h"
#include "detect/engine/rule_table.h"

/* @target is that of the tracepoint. 0, or negative errno with words in @err. */
int extracts__make(const char *target, const struct rule_table *table, struct frbpf_extracts *ret,
		   struct err *err);

#endif
