/* SPDX-License-Identifier: GPL-2.0-only */
/* What a recorder that runs has measured, or a trial, for the check of rules. */
#ifndef FRBPF_CMD_MEASURED_H
#define FRBPF_CMD_MEASURED_H

#include "cmd/live.h"
#include "daemon/location.h"
#include "rules/ruleset.h"

/* Warn in @d of rules of @rs about more than what their sessions hold in the recorder that @hint leads to, where
 * it has a session of the same name and line whose rings are full; and of those that fire there more often than they may
 * dump. Nothing is said where none runs, or we may not ask it. */
void measured__warn(const struct ruleset *rs, const struct location_hint *hint, struct diags *d);

enum measured_rate { MEASURED_SOMETIMES, MEASURED_ALWAYS, MEASURED_NEVER };
/* By what was seen of @rule in @ns: does it fire more often than it may dump, or is its threshold out of reach? Then there
 * is a warning in @d. */
enum measured_rate measured__judge(const struct rule_conf *rule, const struct live_rule *live,
				   uint64_t ns, struct diags *d);

#endif
