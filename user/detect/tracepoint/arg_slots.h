/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Adds arguments to a rule after it was read. Rules on the same tracepoint have an argument in the
 * same slot, and different arguments in different slots.
 */
#ifndef FRBPF_DETECT_ARG_SLOTS_H
#define FRBPF_DETECT_ARG_SLOTS_H

#include "rules/ruleset.h"

/*
 * Get the index of argument @name of @rule, one of @rs; add it if it is new. -ENOSPC: no slot is
 * free; or -ENOMEM.
 */
int arg_slots__add(const struct ruleset *rs, struct rule_conf *rule, const char *name);

#endif
