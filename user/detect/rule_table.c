// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "detect/rule_table.h"

static int fill_rule(struct frbpf_rule *rule, const struct rule_conf *conf, uint32_t slot)
{
	const struct expr *e = &conf->expr;

	if (e->n_nodes > FRBPF_MAX_NODES)
		return -EINVAL;
	if (e->n_nodes && !(e->nodes[e->n_nodes - 1].flags & FRBPF_NODE_END))
		return -EINVAL;
	memset(rule, 0, sizeof(*rule));
	rule->id = conf->id;
	rule->threshold = conf->when.threshold;
	rule->cooldown = conf->cooldown;
	rule->slot = slot;
	rule->n_nodes = e->n_nodes;
	memcpy(rule->nodes, e->nodes, e->n_nodes * sizeof(e->nodes[0]));
	/* Events of a source without keys have key 0. */
	if (conf->when.source == FRBPF_SOURCE_SYSCALL)
		memcpy(rule->keys, conf->when.keys, sizeof(rule->keys));
	else
		rule->keys[0] = 1;
	return 0;
}

/* By insertion: at most FRBPF_MAX_RULES, and rules of equal threshold keep their order. */
static void insert(struct frbpf_rule *rules, size_t n, const struct frbpf_rule *rule)
{
	while (n && rules[n - 1].threshold > rule->threshold) {
		rules[n] = rules[n - 1];
		n--;
	}
	rules[n] = *rule;
}

int rule_table__build(enum frbpf_source source, const struct rule_conf *rules, size_t n_rules,
		      const uint32_t *slots, struct rule_table *ret)
{
	struct frbpf_half half = { .min_threshold = UINT64_MAX };
	struct frbpf_rule rule;
	int r;

	for (size_t i = 0; i < n_rules; i++) {
		if (rules[i].when.source != source)
			continue;
		if (half.n_rules == FRBPF_MAX_RULES)
			return -E2BIG;
		r = fill_rule(&rule, &rules[i], slots[i]);
		if (r)
			return r;
		insert(ret->rules, half.n_rules++, &rule);
		if (rule.threshold < half.min_threshold)
			half.min_threshold = rule.threshold;
		for (int w = 0; w < FRBPF_KEY_WORDS; w++)
			half.keys[w] |= rule.keys[w];
	}
	ret->half = half;
	return 0;
}
