/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Translates rules about other rules for the programs. "A then B" becomes a further rule on the
 * events of B, with the threshold of B and without a condition. It matches an event that B has
 * matched, if A has matched before. "All of A, B" becomes a rule on the events of A and one on
 * those of B, with one state.
 */
#ifndef FRBPF_RULES_RULE_UNITS_H
#define FRBPF_RULES_RULE_UNITS_H

#include "common/err.h"
#include "rules/ruleset.h"

struct rule_units {
	struct rule_conf *v; /* owned; shallow copies, with pointers into the rules */
	uint32_t *slots;     /* of each unit; owned */
	size_t n;
};

/* @slots: the slots of @rules. 0, or negative errno with a message in @err. */
int rule_units__make(const struct rule_conf *rules, size_t n, const uint32_t *slots,
		     struct rule_units *ret, struct err *err);
/*
 * Get the indexes of all units. Those on the same events are in the order in which programs
 * evaluate them. @ret has room for all.
 */
void rule_units__order(const struct rule_units *t, size_t *ret);
void rule_units__free(struct rule_units *t);

#endif
