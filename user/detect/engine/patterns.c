// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "detect/engine/patterns.h"
#include "rules/glob.h"

struct pattern_set {
	size_t n;
	struct slots slots;
	const char *text[FRBPF_MAX_PATH_GLOBS]; /* borrowed */
	enum path_glob kind[FRBPF_MAX_PATH_GLOBS];
	uint64_t hash[FRBPF_MAX_PATH_GLOBS];
	uint32_t index[FRBPF_MAX_PATH_GLOBS];
	bool fresh[FRBPF_MAX_PATH_GLOBS];
};

/* FNV-1a: the same pattern is known by it in the next set. */
static uint64_t hash_of(const char *text, enum path_glob kind)
{
	uint64_t hash = 0xcbf29ce484222325ULL + kind;

	while (*text)
		hash = (hash ^ (unsigned char)*text++) * 0x100000001b3ULL;
	return hash;
}

static bool is_pattern(const struct frbpf_node *n)
{
	return n->field == FRBPF_FIELD_CGROUP_PATH || n->field == FRBPF_FIELD_EXE;
}

static enum path_glob kind_of(const struct frbpf_node *n)
{
	if (n->field == FRBPF_FIELD_CGROUP_PATH)
		return PATH_GLOB_BELOW;
	return n->op == FRBPF_OP_EQ || n->op == FRBPF_OP_NE ? PATH_GLOB_EXACT : PATH_GLOB;
}

/* Where it is in the set; set->n: it is not. */
static size_t find(const struct pattern_set *set, const char *text, enum path_glob kind)
{
	size_t i = 0;

	while (i < set->n && (set->kind[i] != kind || strcmp(set->text[i], text) != 0))
		i++;
	return i;
}

static int add(struct pattern_set *set, const char *text, enum path_glob kind)
{
	size_t i = find(set, text, kind);

	if (i < set->n)
		return 0;
	if (i == FRBPF_MAX_PATH_GLOBS)
		return -ENOSPC;
	set->text[i] = text;
	set->kind[i] = kind;
	set->hash[i] = hash_of(text, kind);
	set->n++;
	return 0;
}

int pattern_set__make(const struct slots *cur, const struct rule_conf *rules, size_t n_rules,
		      struct pattern_set **ret)
{
	struct pattern_set *set = calloc(1, sizeof(*set));
	int r = 0;

	if (!set)
		return -ENOMEM;
	for (size_t i = 0; i < n_rules; i++) {
		const struct expr *e = &rules[i].expr;

		for (uint32_t k = 0; k < e->n_nodes && !r; k++) {
			if (is_pattern(&e->nodes[k]))
				r = add(set, e->strings[e->nodes[k].val[0]], kind_of(&e->nodes[k]));
		}
	}
	/* at most twice as many as one set has are taken: the map has room */
	if (!r)
		r = slots__assign(cur, set->hash, set->n, &set->slots, set->index, set->fresh);
	if (r) {
		free(set);
		return r;
	}
	*ret = set;
	return 0;
}

int pattern_set__find(const struct pattern_set *set, const struct expr *e, uint32_t i,
		      uint32_t *ret)
{
	const struct frbpf_node *n = &e->nodes[i];
	size_t at;

	if (!set || !is_pattern(n))
		return -EINVAL;
	at = find(set, e->strings[n->val[0]], kind_of(n));
	if (at == set->n)
		return -EINVAL;
	*ret = set->index[at];
	return 0;
}

int pattern_set__write(const struct pattern_set *set, int map_fd)
{
	struct frbpf_path_glob glob;
	const char *why;

	for (size_t i = 0; i < set->n; i++) {
		if (!set->fresh[i])
			continue;
		if (glob__compile_path(set->text[i], set->kind[i], &glob, &why))
			return -EINVAL;
		if (bpf_map_update_elem(map_fd, &set->index[i], &glob, BPF_ANY))
			return -errno;
	}
	return 0;
}

const struct slots *pattern_set__slots(const struct pattern_set *set)
{
	return &set->slots;
}

void pattern_set__free(struct pattern_set *set)
{
	free(set);
}
