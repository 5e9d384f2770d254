/* SPDX-License-Identifier: GPL-2.0-only */
/* What a recorder that runs has measured, for the check of rules that it may get. */
#ifndef FRBPF_CMD_MEASURED_H
#define FRBPF_CMD_MEASURED_H

#include "daemon/location.h"
#include "rules/ruleset.h"

/* Warn in @d of rules of @rs about more than what their sessions hold in the recorder that @hint leads to, where
 * it has a session of the same name and line whose rings are full. Nothing is said where none runs, or we may not
 * ask it. */
void measured__warn(const struct ruleset *rs, const struct location_hint *hint, struct diags *d);

#endif
