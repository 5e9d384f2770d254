// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "detect/engine/block_device.h"
#include "detect/engine/cgroups.h"
#include "detect/engine/prefilter.h"
#include "detect/engine/rule_table.h"
#include "detect/engine/text_set.h"
#include "rules/glob.h"

static struct frbpf_rate frbpf_rate_of(const struct rate *r)
{
	return (struct frbpf_rate){ .time = r->time, .n = r->n, .per = r->per, .field = r->field };
}

static uint32_t flags_of(const struct rule_conf *conf)
{
	uint32_t flags = conf->quiet ? FRBPF_RULE_QUIET : 0;

	if (conf->when.fails)
		flags |= FRBPF_RULE_FAILS | (conf->when.any_errno ? FRBPF_RULE_ANY_ERRNO : 0);
	if (conf->when.hit)
		flags |= FRBPF_RULE_HIT;
	if (conf->when.learn.percentile)
		flags |= FRBPF_RULE_LEARNS;
	if (conf->when.parts.n)
		flags |= FRBPF_RULE_AFTER;
	else if (conf->part)
		flags |= FRBPF_RULE_PART;
	if (conf->when.share.time)
		flags |= FRBPF_RULE_SHARE;
	if (conf->when.pending)
		flags |= FRBPF_RULE_PENDING;
	if (conf->when.silence)
		flags |= FRBPF_RULE_ABSENT;
	return flags | (conf->when.all_calls ? FRBPF_RULE_ALL_CALLS : 0);
}

/* Bitmap of the fields that a rule needs. */
static uint32_t fields_of(const struct frbpf_rule *rule)
{
	const struct frbpf_rate *rates[] = { &rule->cooldown, &rule->count, &rule->share };
	uint32_t fields = 0;

	for (uint32_t i = 0; i < rule->n_nodes; i++)
		fields |= 1U << rule->nodes[i].field;
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		if (rates[i]->per == FRBPF_PER_CGROUP)
			fields |= 1U << FRBPF_FIELD_CGROUP;
		else if (rates[i]->per == FRBPF_PER_FIELD)
			fields |= 1U << rates[i]->field;
	}
	return fields;
}

static int fill_rule(struct frbpf_rule *rule, const struct rule_conf *conf, uint32_t slot)
{
	const struct expr *e = &conf->expr;

	if (e->n_nodes > FRBPF_MAX_NODES)
		return -EINVAL;
	if (e->n_nodes && !(e->nodes[e->n_nodes - 1].flags & FRBPF_NODE_END))
		return -EINVAL;
	memset(rule, 0, sizeof(*rule));
	rule->id = conf->id;
	/* no value is too small: the rule learns from it, or adds it to a sum */
	rule->threshold = when__takes_all(&conf->when) ? 0 : conf->when.threshold;
	rule->sum = conf->when.threshold;
	rule->share = (struct frbpf_rate){ .time = conf->when.share.time,
					   .per = conf->when.share.per,
					   .field = conf->when.share.field };
	rule->within = conf->when.parts.within;
	rule->ordered = conf->when.parts.ordered;
	rule->part = conf->part ? conf->part - 1 : 0;
	rule->n_others = conf->n_others;
	memcpy(rule->others, conf->others, sizeof(rule->others));
	rule->cooldown = frbpf_rate_of(&conf->cooldown);
	rule->count = frbpf_rate_of(&conf->count);
	rule->flags = flags_of(conf);
	/* only if values are compared: a pending event has just passed the threshold, and without
	 * a threshold a large value means nothing */
	rule->escalate = when__compares(&conf->when) ? conf->escalate : 0;
	rule->silence = conf->when.silence;
	memcpy(rule->errnos, conf->when.errnos, sizeof(rule->errnos));
	rule->slot = slot;
	rule->n_nodes = e->n_nodes;
	memcpy(rule->nodes, e->nodes, e->n_nodes * sizeof(e->nodes[0]));
	/* Events of a source without keys have key 0. */
	if (when__has_keys(conf->when.source))
		memcpy(rule->watched_keys, conf->when.keys, sizeof(rule->watched_keys));
	else
		rule->watched_keys[0] = 1;
	return 0;
}

/* Get the index of the automaton of @pattern; equal patterns share one. */
static int add_glob(struct rule_table *t, const char *pattern, __u64 *ret)
{
	const char *why;
	size_t least;

	for (uint32_t i = 0; i < t->n_globs; i++) {
		if (!strcmp(t->patterns[i], pattern)) {
			*ret = i;
			return 0;
		}
	}
	if (t->n_globs == FRBPF_MAX_GLOBS)
		return -ENOSPC;
	if (glob__compile(pattern, &t->globs[t->n_globs], &least, &why))
		return -EINVAL;
	t->patterns[t->n_globs] = pattern;
	*ret = t->n_globs++;
	return 0;
}

static int place_device(const char *text, struct frbpf_node *n)
{
	struct err why;
	uint64_t dev;

	if (block_device__find(text, &dev, &why))
		return -ENODEV;
	n->val[0] = dev;
	n->val[1] = 0;
	return 0;
}

/* Replace strings of the expression by what BPF compares: indexes, or numbers of devices. */
static int place_strings(struct rule_table *t, struct frbpf_rule *rule, enum frbpf_source source,
			 const struct expr *e, const struct cgroup_set *cgroups,
			 const struct pattern_set *patterns)
{
	int err = 0;

	for (uint32_t i = 0; i < e->n_nodes && !err; i++) {
		struct frbpf_node *n = &rule->nodes[i];
		const struct expr_field_desc *f = expr_field__of(source, n->field);
		uint32_t index;

		if (!pattern_set__find(patterns, e, i, &index))
			n->val[0] = index;
		else if (n->field == FRBPF_FIELD_CGROUP_PATH || n->field == FRBPF_FIELD_EXE ||
			 n->field == FRBPF_FIELD_PATH)
			err = -EINVAL;
		else if (n->op == FRBPF_OP_GLOB || n->op == FRBPF_OP_NO_GLOB)
			err = add_glob(t, e->strings[n->val[0]], &n->val[0]);
		else if (f && f->type == EXPR_DEVICE)
			err = place_device(e->strings[n->val[0]], n);
		else if (n->field != FRBPF_FIELD_CGROUP)
			continue;
		else if (cgroups && cgroup_set__has(cgroups, e->strings[n->val[0]], &index))
			n->val[0] = index;
		else
			err = -EINVAL;
	}
	return err;
}

/*
 * Insert a rule into @rules and @whens, sorted by threshold. Rules of equal threshold keep their
 * order. There are at most FRBPF_MAX_RULES, so this is fast enough.
 */
static void insert_rule(struct frbpf_rule *rules, const struct when **whens, size_t n,
			const struct frbpf_rule *rule, const struct when *when)
{
	while (n && when__comes_after(whens[n - 1], when)) {
		rules[n] = rules[n - 1];
		whens[n] = whens[n - 1];
		n--;
	}
	rules[n] = *rule;
	whens[n] = when;
}

/* Add a rule to the summary in the bank. */
static void bank_add_rule(struct frbpf_bank *bank, const struct frbpf_rule *rule)
{
	bool fails = rule->flags & FRBPF_RULE_FAILS;
	bool needs_paths =
		rule->flags & FRBPF_RULE_PENDING && fields_of(rule) & 1U << FRBPF_FIELD_PATH;

	if (rule->silence && rule->silence < bank->min_silence)
		bank->min_silence = rule->silence;
	if (rule->flags & FRBPF_RULE_PENDING) {
		if (rule->threshold < bank->min_pending)
			bank->min_pending = rule->threshold;
		if (rule->threshold > bank->max_pending)
			bank->max_pending = rule->threshold;
	}
	if (rule->flags & FRBPF_RULE_HIT)
		bank->min_threshold = 0;
	else if (!fails && rule->threshold < bank->min_threshold)
		bank->min_threshold = rule->threshold;
	for (int w = 0; w < FRBPF_KEY_WORDS; w++) {
		bank->watched_keys[w] |= rule->watched_keys[w];
		if (fails)
			bank->fail_keys[w] |= rule->watched_keys[w];
		if (needs_paths)
			bank->path_keys[w] |= rule->watched_keys[w];
	}
	bank->fields |= fields_of(rule);
}

/* Bits of the fields whose values take two words: strings and long addresses. */
static uint32_t wide_fields(const struct rule_table *t)
{
	uint32_t wide = 0;

	for (uint32_t i = 0; i < FRBPF_MAX_ARGS; i++) {
		if (t->args[i] &&
		    (t->args[i]->type == EXPR_STRING || t->args[i]->type == EXPR_IPV6))
			wide |= 1U << (FRBPF_FIELD_ARG + i);
	}
	return wide;
}

int rule_table__build(const struct when *when, const struct rule_conf *rules, size_t n_rules,
		      const uint32_t *slots, const struct cgroup_set *cgroups,
		      const struct pattern_set *patterns, struct rule_table *ret)
{
	struct frbpf_bank bank = { .min_threshold = UINT64_MAX,
				   .min_pending = UINT64_MAX,
				   .min_silence = UINT64_MAX };
	const struct when *whens[FRBPF_MAX_RULES];
	struct frbpf_rule rule;
	int err;

	ret->n_globs = 0;
	memset(ret->args, 0, sizeof(ret->args));
	for (size_t i = 0; i < n_rules; i++) {
		if (!when__same_events(&rules[i].when, when))
			continue;
		if (bank.n_rules == FRBPF_MAX_RULES)
			return -E2BIG;
		err = fill_rule(&rule, &rules[i], slots[i]);
		err = err
			      ?: place_strings(ret, &rule, when->source, &rules[i].expr, cgroups,
					       patterns);
		if (err)
			return err;
		for (uint32_t k = 0; k < rules[i].args.n; k++)
			ret->args[rules[i].args.v[k].slot] = &rules[i].args.v[k];
		insert_rule(ret->rules, whens, bank.n_rules++, &rule, &rules[i].when);
		bank_add_rule(&bank, &rule);
	}
	ret->bank = bank;
	prefilter__make(ret->rules, bank.n_rules, ret->patterns, wide_fields(ret),
			&ret->bank.prefilter);
	return 0;
}

/* Find the slot of @id in @cur, unless an earlier rule with the same id has it in @next already. */
static int find_kept(const struct slots *cur, const struct slots *next, uint64_t id)
{
	for (int i = 0; i < FRBPF_MAX_SLOTS; i++) {
		if (cur->v[i].used && cur->v[i].id == id && !next->v[i].used)
			return i;
	}
	return -1;
}

static int find_free_slot(const struct slots *cur, const struct slots *next)
{
	for (int i = 0; i < FRBPF_MAX_SLOTS; i++) {
		if (!cur->v[i].used && !next->v[i].used)
			return i;
	}
	return -1;
}

int slots__assign(const struct slots *cur, const uint64_t *ids, size_t n, struct slots *ret_next,
		  uint32_t *ret_slots, bool *ret_fresh)
{
	memset(ret_next, 0, sizeof(*ret_next));
	for (size_t i = 0; i < n; i++) {
		int slot = find_kept(cur, ret_next, ids[i]);

		ret_fresh[i] = slot < 0;
		if (slot < 0)
			slot = find_free_slot(cur, ret_next);
		if (slot < 0)
			return -ENOSPC;
		ret_next->v[slot].used = true;
		ret_next->v[slot].id = ids[i];
		ret_slots[i] = slot;
	}
	return 0;
}
