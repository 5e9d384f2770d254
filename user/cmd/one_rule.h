/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes rulesets of what is no file: a rule given on the command line, or to try something. */
#ifndef FRBPF_CMD_ONE_RULE_H
#define FRBPF_CMD_ONE_RULE_H

#include "rules/ruleset.h"

/*
 * Parse a ruleset of one rule: `when` is @when followed by @threshold, `if` is @condition (NULL:
 * none). It comes from @name, which messages show. The caller owns *ret. 0, -EINVAL (see @d) or
 * -ENOMEM.
 */
int one_rule__parse(const char *name, const char *when, const char *threshold,
		    const char *condition, struct diags *d, struct ruleset **ret);

#endif
