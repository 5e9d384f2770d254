// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "common/hash.h"
#include "detect/engine/text_set.h"

/* The hash identifies the same text in the next set. */
static uint64_t hash_of(const char *text, uint32_t kind)
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
	set->id[i] = hash_of(text, kind);
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
