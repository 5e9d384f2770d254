/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reports what loading a rules file would do, as JSON and for people: sources, rules, sessions,
 * memory.
 */
#ifndef FRBPF_CMD_PLAN_REPORT_H
#define FRBPF_CMD_PLAN_REPORT_H

#include <jansson.h>

#include "daemon/plan.h"

/*
 * Make {"sources": [...], "rules": [...], "sessions": [...], "memory": {...}}, owned by the caller.
 * NULL: out of memory.
 */
json_t *plan_report__make(const struct ruleset *rs, const struct plan *p);

/* Print the result of plan_report__make(). */
void plan_report__print(const json_t *plan);

/*
 * The messages of @d: [{"level", "message", "line", "column", "text"}]. Messages without a position
 * lack the last three.
 */
json_t *plan_report__messages(const struct diags *d);

#endif
