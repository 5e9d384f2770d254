/* SPDX-License-Identifier: GPL-2.0-only */
/* Warnings for the check of rules, from measurements of a running recorder or of a trial. */
#ifndef FRBPF_CMD_MEASURED_H
#define FRBPF_CMD_MEASURED_H

#include "cmd/live.h"
#include "daemon/location.h"
#include "rules/ruleset.h"

enum measured_rate { MEASURED_SOMETIMES, MEASURED_ALWAYS, MEASURED_NEVER };

/*
 * Judge the rules of @rs by what was seen of them in @ns; ret[i] is for rule i. Warn in @d about
 * rules that fire too often, at once, or never. A rule never fires if
 * - its threshold is out of reach,
 * - it has too few values to learn from, or
 * - it is about a rule that never fires.
 */
void measured__judge(const struct ruleset *rs, const struct live_rule *live, uint64_t ns,
		     enum measured_rate *ret, struct diags *d);

/*
 * Warn in @d about rules of @rs, using the running recorder found by @hint. First, a rule may need
 * a longer window than its sessions hold. This is known if the recorder has a session with the same
 * name and line, and its rings are full. Second, a rule may fire there more often than it may dump.
 * No warning if no recorder runs, or we may not ask it.
 */
void measured__warn(const struct ruleset *rs, const struct location_hint *hint, struct diags *d);

#endif
