/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The patterns that rules match paths with, and the map of their automata. Life of a set: make for
 * the new rules, write before they come into force, take over its slots, free.
 */
#ifndef FRBPF_DETECT_PATTERNS_H
#define FRBPF_DETECT_PATTERNS_H

#include "detect/engine/rule_table.h"
#include "rules/ruleset.h"

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
