/* SPDX-License-Identifier: GPL-2.0-only */
/* Rules and sessions of which only the kernel at hand knows all are bound to it; part of the plan. */
#ifndef FRBPF_DAEMON_RULE_BINDING_H
#define FRBPF_DAEMON_RULE_BINDING_H

#include "record/tracefs.h"
#include "rules/ruleset.h"

/* Bind those of @rs that are not bound yet. @tracefs may be NULL: what it knows is not checked
 * then. With @partly, what cannot be known without it is left out. 0, -EINVAL (see @d) or -ENOMEM. */
int rule_binding__bind(struct ruleset *rs, struct tracefs *tracefs, bool partly, struct diags *d);

#endif
