/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A set of the texts that rules compare with and BPF looks up in a map: paths of cgroups, patterns.
 * Each text has an index in the map. It keeps the index while successive sets have it.
 */
#ifndef FRBPF_DETECT_TEXT_SET_H
#define FRBPF_DETECT_TEXT_SET_H

#include "detect/engine/rule_table.h"
#include "rules/ruleset.h"

struct text_set { /* { 0 } is an empty one */
	size_t n;
	const char *text[FRBPF_MAX_SLOTS]; /* borrowed from the rules */
	uint32_t kind[FRBPF_MAX_SLOTS];	   /* equal texts of different kinds are distinct */
	uint32_t index[FRBPF_MAX_SLOTS];
	bool fresh[FRBPF_MAX_SLOTS]; /* it was not in the previous set */
	uint64_t id[FRBPF_MAX_SLOTS];
	struct slots slots; /* the indexes in use once the set is in force */
};

/* Does @node compare with a text of the set? If so, sets *ret_kind, which is 0 before. */
typedef bool (*text_set_takes)(const struct frbpf_node *node, uint32_t *ret_kind);

/*
 * Fill an empty set with the texts, at most @max, that @rules compare with. The rules must outlive
 * the set. @cur: the indexes of the set in force. 0 or -ENOSPC.
 */
int text_set__fill(struct text_set *set, const struct slots *cur, const struct rule_conf *rules,
		   size_t n_rules, size_t max, text_set_takes takes);
/* The position of the text in the arrays; set->n: not found. */
size_t text_set__find(const struct text_set *set, const char *text, uint32_t kind);

#endif
