// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "detect/engine/text_set.h"
#include "rules/glob.h"

/* Identifies a text, so that the next set finds it again. */
static uint64_t text_hash(const char *text, uint32_t kind)
{
	return hash_fnv1a(HASH_FNV1A_BEGIN + kind, text, strlen(text));
}

size_t text_set__find(const struct text_set *set, const char *text, uint32_t kind)
{
	size_t i = 0;

	while (i < set->n && (set->kind[i] != kind || strcmp(set->text[i], text) != 0))
		i++;
	return i;
}

static int text_set_add(struct text_set *set, const char *text, uint32_t kind, size_t max)
{
	size_t i = text_set__find(set, text, kind);

	if (i < set->n)
		return 0;
	if (i == max)
		return -ENOSPC;
	set->text[i] = text;
	set->kind[i] = kind;
	set->id[i] = text_hash(text, kind);
	set->n++;
	return 0;
}

int text_set__fill(struct text_set *set, const struct slots *cur, const struct rule_conf *rules,
		   size_t n_rules, size_t max, text_set_takes takes)
{
	int err = 0;

	for (size_t i = 0; i < n_rules; i++) {
		const struct expr *e = &rules[i].expr;

		for (uint32_t k = 0; k < e->n_nodes && !err; k++) {
			uint32_t kind = 0;

			if (takes(&e->nodes[k], &kind))
				err = text_set_add(set, e->strings[e->nodes[k].val[0]], kind, max);
		}
	}
	return err ?: slots__assign(cur, set->id, set->n, &set->slots, set->index, set->fresh);
}

/* ---- patterns ---- */

struct pattern_set {
	struct text_set texts; /* the kind of each is an enum path_glob */
};

static bool is_pattern(const struct frbpf_node *n, uint32_t *ret_kind)
{
	if (n->field == FRBPF_FIELD_CGROUP_PATH)
		*ret_kind = PATH_GLOB_BELOW;
	else if (n->op == FRBPF_OP_EQ || n->op == FRBPF_OP_NE)
		*ret_kind = PATH_GLOB_EXACT;
	else
		*ret_kind = PATH_GLOB;
	return n->field == FRBPF_FIELD_CGROUP_PATH || n->field == FRBPF_FIELD_EXE ||
	       n->field == FRBPF_FIELD_PATH;
}

int pattern_set__make(const struct slots *cur, const struct rule_conf *rules, size_t n_rules,
		      struct pattern_set **ret)
{
	struct pattern_set *set = calloc(1, sizeof(*set));
	int err;

	if (!set)
		return -ENOMEM;
	/* the map has room for the patterns of two sets */
	err = text_set__fill(&set->texts, cur, rules, n_rules, FRBPF_MAX_PATH_GLOBS, is_pattern);
	if (err) {
		free(set);
		return err;
	}
	*ret = set;
	return 0;
}

int pattern_set__find(const struct pattern_set *set, const struct expr *e, uint32_t i,
		      uint32_t *ret)
{
	const struct frbpf_node *n = &e->nodes[i];
	uint32_t kind;
	size_t at;

	if (!set || !is_pattern(n, &kind))
		return -EINVAL;
	at = text_set__find(&set->texts, e->strings[n->val[0]], kind);
	if (at == set->texts.n)
		return -EINVAL;
	*ret = set->texts.index[at];
	return 0;
}

int pattern_set__write(const struct pattern_set *set, int map_fd)
{
	const struct text_set *texts = &set->texts;
	struct frbpf_path_glob glob;
	const char *why;

	for (size_t i = 0; i < texts->n; i++) {
		if (!texts->fresh[i])
			continue;
		if (glob__compile_path(texts->text[i], texts->kind[i], &glob, &why))
			return -EINVAL;
		if (bpf_map_update_elem(map_fd, &texts->index[i], &glob, BPF_ANY))
			return -errno;
	}
	return 0;
}

const struct slots *pattern_set__slots(const struct pattern_set *set)
{
	return &set->texts.slots;
}

void pattern_set__free(struct pattern_set *set)
{
	free(set);
}
