/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The patterns that rules hold paths against, and the map of their automata. Life of a set: make
 * for the new rules, write once they may come into force, commit, free.
 */
#ifndef FRBPF_DETECT_PATTERNS_H
#define FRBPF_DETECT_PATTERNS_H

#include "detect/engine/slots.h"
#include "rules/ruleset.h"

struct pattern_set;

/* The patterns of @rules, each with its index; those that are in force according to @cur keep
 * theirs. 0, -ENOSPC or -ENOMEM. The rules must outlive it. */
int pattern_set__make(const struct slots *cur, const struct rule_conf *rules, size_t n_rules,
		      struct pattern_set **ret);
/* The index of the pattern of node @i of @e; -EINVAL: it is not of this set. */
int pattern_set__find(const struct pattern_set *set, const struct expr *e, uint32_t i,
		      uint32_t *ret);
/* Write the automata that are new into the map. 0 or negative errno. */
int pattern_set__write(const struct pattern_set *set, int map_fd);
/* What is in force once it is. */
const struct slots *pattern_set__slots(const struct pattern_set *set);
void pattern_set__free(struct pattern_set *set);

#endif
