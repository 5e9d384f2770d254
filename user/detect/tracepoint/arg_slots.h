/* SPDX-License-Identifier: GPL-2.0-only */
/* Arguments that are added to a rule after it was read: rules on the same tracepoint have them in the
 * same slot, and no two in one. */
#ifndef FRBPF_DETECT_ARG_SLOTS_H
#define FRBPF_DETECT_ARG_SLOTS_H

#include "rules/ruleset.h"

/* The argument @name of @rule, one of @rs, which is added if it is new: its index. -ENOSPC: no room,
 * -ENOMEM. */
int arg_slots__add(const struct ruleset *rs, struct rule_conf *rule, const char *name);

#endif
