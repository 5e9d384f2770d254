/* SPDX-License-Identifier: GPL-2.0-only */
/* The rules of one source in the form that its BPF programs read: one bank of their rule map. */
#ifndef FRBPF_DETECT_RULE_TABLE_H
#define FRBPF_DETECT_RULE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "rules/ruleset.h"

struct cgroup_set;
struct pattern_set;

struct rule_table {
	struct frbpf_bank bank; /* n_rules, the lowest threshold, all keys, all fields */
	struct frbpf_rule
		rules[FRBPF_MAX_RULES]; /* sorted by threshold; equal ones as in the file */
	uint32_t n_globs;
	struct frbpf_glob globs[FRBPF_MAX_GLOBS];
	const char *patterns[FRBPF_MAX_GLOBS];	     /* texts of globs; borrowed from the rules */
	const struct rule_arg *args[FRBPF_MAX_ARGS]; /* by slot; borrowed, too; NULL: unused */
};

/*
 * Build the table of those @rules that are on the events of @when. slots[i] is the slot of rule i.
 * @cgroups has the cgroups that the rules name, @patterns the patterns that they match paths with;
 * NULL: none. 0 or:
 *  -E2BIG   more than FRBPF_MAX_RULES rules
 *  -ENOSPC  more than FRBPF_MAX_GLOBS different patterns
 *  -ENODEV  a block device does not exist
 *  -EINVAL  BPF cannot evaluate a rule: it has more than FRBPF_MAX_NODES predicates, or the last
 *           one lacks FRBPF_NODE_END
 */
int rule_table__build(const struct when *when, const struct rule_conf *rules, size_t n_rules,
		      const uint32_t *slots, const struct cgroup_set *cgroups,
		      const struct pattern_set *patterns, struct rule_table *ret);

/*
 * ---- slots of the state map ----
 *
 * A rule keeps its slot as long as its id is in force. An update does not reuse slots that it
 * frees: programs that still run with the old rules may count in them.
 */

struct slots { /* { 0 }: all are free */
	struct slot {
		uint64_t id;
		bool used;
	} v[FRBPF_MAX_SLOTS];
};

/*
 * Give each of the @n ids a slot, ret_slots[i]. ret_fresh[i]: the slot is new, so its state must be
 * cleared. @ret_next is the new assignment; @cur stays unchanged. 0 or -ENOSPC.
 */
int slots__assign(const struct slots *cur, const uint64_t *ids, size_t n, struct slots *ret_next,
		  uint32_t *ret_slots, bool *ret_fresh);

#endif
