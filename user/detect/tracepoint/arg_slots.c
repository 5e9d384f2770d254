// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "detect/tracepoint/arg_slots.h"

/* Find the slot in which a rule on the same tracepoint has @name, or a free one. */
static int find_slot(const struct ruleset *rs, const struct rule_conf *rule, const char *name)
{
	uint32_t taken = 0;

	for (size_t i = 0; i < rs->n_rules; i++) {
		const struct rule_conf *r = &rs->rules[i];

		if (!r->when.target || strcmp(r->when.target, rule->when.target))
			continue;
		for (uint32_t k = 0; k < r->args.n; k++) {
			if (!strcmp(r->args.v[k].name, name))
				return r->args.v[k].slot;
			taken |= 1U << r->args.v[k].slot;
		}
	}
	for (int i = 0; i < FRBPF_MAX_ARGS; i++) {
		if (!(taken >> i & 1))
			return i;
	}
	return -ENOSPC;
}

int arg_slots__add(const struct ruleset *rs, struct rule_conf *rule, const char *name)
{
	int slot = find_slot(rs, rule, name), i;
	uint32_t n = rule->args.n;

	if (slot < 0)
		return slot;
	i = rule_args__add(&rule->args, name, strlen(name), rule->when_span);
	if (i >= 0 && rule->args.n > n)
		rule->args.v[i].slot = slot;
	return i;
}
