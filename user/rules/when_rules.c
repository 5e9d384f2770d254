// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules that must match together: "rule:A then rule:B within 2s", "all of rule:A, rule:B within 2s"
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/nearest_word.h"
#include "rules/file_scope.h"
#include "rules/section.h"
#include "rules/units.h"
#include "rules/when_parse.h"

#define WITHIN_MAX (3600 * NSEC_PER_SEC)

/* Parse "rule:NAME". */
static int take_part(struct when_parser *p, struct when_parts *ret)
{
	struct span word = when_parser__word(p), name;
	struct when_part *part = &ret->v[ret->n];

	if (!text__equals(p->src, word, "rule") || !when_parser__at(p, ":"))
		return diags__error(p->d, p->src, word.len ? word : when_parser__here(p),
				    "a rule of the file is expected here, such as rule:slow-fsync");
	p->pos++;
	name = when_parser__word(p);
	if (!name.len || name.len >= sizeof(part->name))
		return diags__error(p->d, p->src, name.len ? name : when_parser__here(p),
				    "the name of a rule is expected here");
	for (uint32_t i = 0; i < ret->n; i++) {
		if (text__equals(p->src, name, ret->v[i].name))
			return diags__error(p->d, p->src, name,
					    "the rule " QUOTED " is named twice",
					    QUOTE_SPAN(p->src, name));
	}
	snprintf(part->name, sizeof(part->name), "%.*s", (int)name.len, p->src->text + name.off);
	part->at = name;
	ret->n++;
	return 0;
}

/* Parse "within 2s", up to the end of the text. */
static int take_within(struct when_parser *p, uint64_t *ret)
{
	struct span word = when_parser__word(p), time;

	if (!text__equals(p->src, word, "within"))
		return diags__error(p->d, p->src, word.len ? word : when_parser__here(p),
				    "the time is missing: write within 2s");
	time = when_parser__word(p);
	if (!time.len)
		return diags__error(p->d, p->src, when_parser__here(p),
				    "a time is expected after 'within', such as 2s");
	if (text__duration(p->src, time, p->d, ret))
		return -EINVAL;
	if (!*ret || *ret > WITHIN_MAX)
		return diags__error(p->d, p->src, time,
				    "the time must be more than 0 and at most 1h");
	if (p->pos == p->end)
		return 0;
	return diags__error(p->d, p->src, when_parser__rest(p), "nothing may follow the time");
}

/* Parse "of rule:A, rule:B" after "all". */
static int take_all_rules(struct when_parser *p, struct when_parts *ret)
{
	struct span of = when_parser__word(p);
	int err = 0;

	if (!text__equals(p->src, of, "of"))
		return diags__error(p->d, p->src, of.len ? of : when_parser__here(p),
				    "rules are missing: write all of rule:A, rule:B within 2s");
	do {
		if (ret->n == WHEN_MAX_PARTS)
			return diags__error(p->d, p->src, when_parser__here(p),
					    "at most %d rules can be combined", WHEN_MAX_PARTS);
		if (ret->n)
			p->pos++;
		err = take_part(p, ret);
	} while (!err && when_parser__at(p, ","));
	if (!err && ret->n < 2)
		err = diags__error(p->d, p->src, when_parser__here(p),
				   "a second rule is expected after a comma");
	return err;
}

/* Parse "rule:A then rule:B". */
static int take_then_rules(struct when_parser *p, struct when_parts *ret)
{
	int err = take_part(p, ret);
	struct span then;

	if (err)
		return err;
	then = when_parser__word(p);
	if (!text__equals(p->src, then, "then"))
		return diags__error(p->d, p->src, then.len ? then : when_parser__here(p),
				    "'then' and a second rule are expected here");
	ret->ordered = true;
	return take_part(p, ret);
}

bool when_parser__at_rules(const struct when_parser *p)
{
	struct when_parser q = *p;
	struct span word = when_parser__word(&q);

	return text__equals(p->src, word, "all") ||
	       (text__equals(p->src, word, "rule") && when_parser__at(&q, ":"));
}

int when_parser__rules(struct when_parser *p, struct when *ret)
{
	struct when_parser q = *p;
	bool all = text__equals(p->src, when_parser__word(&q), "all");
	int err;

	if (p->open)
		return diags__error(p->d, p->src, when_parser__rest(p),
				    "a source belongs in the parentheses, such as runqlat");
	if (all)
		*p = q;
	ret->source = FRBPF_SOURCE_RULES;
	ret->hit = true;
	err = all ? take_all_rules(p, &ret->parts) : take_then_rules(p, &ret->parts);
	return err ?: take_within(p, &ret->parts.within);
}

/* ---- after all rules are parsed ---- */

static const struct rule_conf *find_rule_named(const struct ruleset *rs, const struct rule_conf *of,
					       const char *name)
{
	const struct rule_conf *found = NULL;

	for (size_t i = 0; i < rs->n_rules; i++) {
		const struct rule_conf *r = &rs->rules[i];

		if (strcmp(r->name, name) != 0)
			continue;
		if (r->src == of->src && !file_scope__differs(of->src, r->name_span, of->name_span))
			return r;
		found = found ?: r;
	}
	return found;
}

static int unknown_rule(const struct ruleset *rs, const struct rule_conf *rule,
			const struct when_part *part, struct diags *d)
{
	const char **names = calloc(rs->n_rules + 1, sizeof(*names)), *nearest;

	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < rs->n_rules; i++)
		names[i] = rs->rules[i].name;
	nearest = nearest_word(part->name, strlen(part->name), names);
	diags__error(d, rule->src, part->at, "there is no rule " QUOTED DID_YOU_MEAN,
		     QUOTE(part->name, strlen(part->name)), SUGGEST(nearest));
	free(names);
	return -EINVAL;
}

static int bind_when_part(const struct ruleset *rs, const struct rule_conf *rule,
			  struct when_part *part, struct diags *d)
{
	const struct rule_conf *r = find_rule_named(rs, rule, part->name);

	if (!r)
		return unknown_rule(rs, rule, part, d);
	if (r->when.source == FRBPF_SOURCE_RULES)
		return diags__error(d, rule->src, part->at,
				    "this rule refers to other rules: name those rules instead");
	if (r->when.silence)
		return diags__error(d, rule->src, part->at,
				    "a rule on absent() cannot be combined");
	part->id = r->id;
	return 0;
}

int when_parts__bind(const struct ruleset *rs, struct rule_conf *rule, struct diags *d)
{
	int err = 0;

	for (uint32_t i = 0; i < rule->when.parts.n && !err; i++)
		err = bind_when_part(rs, rule, &rule->when.parts.v[i], d);
	if (!err)
		rule_conf__identify(rule);
	return err;
}
