/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules about other rules, as the programs have them. "A then B" is one more rule on the events of B, with its threshold
 * and without a condition: it matches with an event that B has matched, if A has before. "All of A, B" is one on the
 * events of each of them, with one state.
 */
#ifndef FRBPF_DETECT_TOGETHER_H
#define FRBPF_DETECT_TOGETHER_H

#include "common/err.h"
#include "rules/ruleset.h"

struct together {
	struct rule_conf *units; /* owned; shallow copies: what they point to is the rules' */
	uint32_t *slots;	 /* of each; owned */
	size_t n;
};

/* @slots: of the rules. 0, or negative errno with words in @err. */
int together__make(const struct rule_conf *rules, size_t n, const uint32_t *slots,
		   struct together *ret, struct err *err);
void together__free(struct together *t);

#endif
