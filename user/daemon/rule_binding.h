/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Checks and completes rules and sessions with what only this kernel knows. A step of making a
 * plan.
 */
#ifndef FRBPF_DAEMON_RULE_BINDING_H
#define FRBPF_DAEMON_RULE_BINDING_H

#include "common/tracefs.h"
#include "rules/ruleset.h"

/*
 * Bind the rules of @rs that are not bound yet. @tracefs NULL: tracepoints are not looked up.
 * @partly: what needs tracefs is left out. 0, -EINVAL (see @d) or -ENOMEM.
 */
int rule_binding__bind(struct ruleset *rs, struct tracefs *tracefs, bool partly, struct diags *d);

#endif
