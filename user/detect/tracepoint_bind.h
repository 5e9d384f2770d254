/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules on tracepoints meet the kernel: what their conditions name are arguments of the tracepoint,
 * or what is found from these by path; then their comparisons can be read. Needs BTF, no privilege.
 */
#ifndef FRBPF_DETECT_TRACEPOINT_BIND_H
#define FRBPF_DETECT_TRACEPOINT_BIND_H

#include "rules/ruleset.h"

/* Bind @rule of @rs, which is on a tracepoint, if it is not bound yet. Errors at their place go to
 * @d. 0, -EINVAL or -ENOMEM. */
int tracepoint_bind__rule(const struct ruleset *rs, struct rule_conf *rule, struct diags *d);

#endif
