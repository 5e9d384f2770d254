/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The texts that rules compare with and BPF finds in a map (paths of cgroups, patterns): each once, with its index
 * there. A text keeps its index for as long as it is in one set after the other.
 */
#ifndef FRBPF_DETECT_TEXT_SET_H
#define FRBPF_DETECT_TEXT_SET_H

#include "detect/engine/slots.h"
#include "rules/ruleset.h"

struct text_set { /* { 0 } is an empty one */
	size_t n;
	const char *text[FRBPF_MAX_SLOTS]; /* borrowed from the rules */
	uint32_t kind[FRBPF_MAX_SLOTS];	   /* texts of two kinds are not the same one */
	uint32_t index[FRBPF_MAX_SLOTS];
	bool fresh[FRBPF_MAX_SLOTS]; /* it was not in the set before */
	uint64_t id[FRBPF_MAX_SLOTS];
	struct slots slots; /* who has which index once the set is in force */
};

/* Does @node compare with a text of the set; of which kind is it? @ret_kind is 0 before. */
typedef bool (*text_set_takes)(const struct frbpf_node *node, uint32_t *ret_kind);

/* Fill an empty set with what @rules, which must outlive it, compare with: at most @max texts. @cur: of the set in
 * force. 0, or -ENOSPC. */
int text_set__fill(struct text_set *set, const struct slots *cur, const struct rule_conf *rules,
		   size_t n_rules, size_t max, text_set_takes takes);
/* Where the text is in the arrays; set->n: it is not there. */
size_t text_set__find(const struct text_set *set, const char *text, uint32_t kind);

#endif
