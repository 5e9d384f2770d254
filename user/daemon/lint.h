/* SPDX-License-Identifier: GPL-2.0-only */
/* Warnings: what is legal but will not do what one thinks. */
#ifndef FRBPF_DAEMON_LINT_H
#define FRBPF_DAEMON_LINT_H

#include "daemon/plan.h"

/* Look at @rs and its plan, which have no errors; each warning goes to @d, at its place. */
void lint__ruleset(const struct ruleset *rs, const struct plan *p, struct diags *d);

#endif
