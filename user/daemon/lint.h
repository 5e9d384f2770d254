/* SPDX-License-Identifier: GPL-2.0-only */
/* Warns about rules that are legal but will not do what their author expects. */
#ifndef FRBPF_DAEMON_LINT_H
#define FRBPF_DAEMON_LINT_H

#include "daemon/plan.h"

/* Check @rs and its plan, which have no errors. Warnings go to @d, with their place in the file. */
void lint__ruleset(const struct ruleset *rs, const struct plan *p, struct diags *d);

#endif
