/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A set of the texts that rules compare with and BPF looks up in a map: paths of cgroups, patterns.
 * Each text has an index in the map. It keeps the index while successive sets contain the text.
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

/*
 * ---- patterns ----
 *
 * The patterns that rules match paths with, and the map of their automata. Life of a set: make for
 * the new rules, write before they come into force, take over its slots, free.
 */

struct pattern_set;

/*
 * Collect the patterns in @rules, which must outlive the set. Each gets an index; those in force,
 * according to @cur, keep theirs. 0, -ENOSPC or -ENOMEM.
 */
int pattern_set__make(const struct slots *cur, const struct rule_conf *rules, size_t n_rules,
		      struct pattern_set **ret);
/* Get the index of the pattern in node @i of @e. 0; -EINVAL: it is not in this set. */
int pattern_set__find(const struct pattern_set *set, const struct expr *e, uint32_t i,
		      uint32_t *ret);
/* Write new automata into the map. 0 or negative errno. */
int pattern_set__write(const struct pattern_set *set, int map_fd);
/* The indexes in use once the set is in force: the next @cur. */
const struct slots *pattern_set__slots(const struct pattern_set *set);
void pattern_set__free(struct pattern_set *set);

#endif
