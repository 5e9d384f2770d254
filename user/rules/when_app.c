// SPDX-License-Identifier: GPL-2.0-only
/* Sources app:NAME and app:NAME > T */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rules/app_message.h"
#include "rules/expr.h"
#include "rules/ruleset.h"
#include "rules/units.h"
#include "rules/when_parse.h"

int when__parse_app(struct when_parser *p, struct span source, struct when *ret)
{
	struct span name;
	const char *s;

	if (!when_parser__at(p, ":"))
		return diags__error(
			p->d, p->src, source,
			"the name of the message is missing: write app:NAME or app:NAME > 500ms");
	p->pos++;
	name = when_parser__word(p);
	s = p->src->text + name.off;
	if (!name.len)
		return diags__error(p->d, p->src, when_parser__here(p),
				    "the name of a message is expected here");
	if (name.len > APP_NAME_MAX)
		return diags__error(p->d, p->src, name,
				    "this name has %u bytes: at most %d are allowed", name.len,
				    APP_NAME_MAX);
	if (!app_name__is_valid(s, name.len))
		return diags__error(p->d, p->src, name,
				    "bad name " QUOTED
				    ": use only letters, digits, '_', '-' and '.'",
				    QUOTE(s, name.len));
	ret->target = strndup(s, name.len);
	if (!ret->target)
		return -ENOMEM;
	if (p->pos < p->end)
		return when_parser__threshold(p, ret);
	ret->hit = true;
	return 0;
}

/* Is an argument that is compared with @text a string? Else it is a number, or a duration. */
static bool is_string(const char *text, enum frbpf_op op, bool *ret_duration)
{
	bool minus = text[0] == '-';
	size_t len = strlen(text);
	const char *why;
	uint64_t n;

	*ret_duration = false;
	if (text[0] == '"' || op == FRBPF_OP_GLOB || op == FRBPF_OP_NO_GLOB)
		return true;
	if (units__number(text + minus, len - minus, &n, &why) != -EINVAL)
		return false;
	/* "5mss" is a malformed duration, not a string */
	*ret_duration = text[minus] >= '0' && text[minus] <= '9';
	return !*ret_duration;
}

/* The first comparison with the argument decides its type. */
static enum expr_type type_of(const struct expr *e, uint32_t slot)
{
	bool duration = false;

	for (uint32_t i = 0; i < e->n_nodes; i++) {
		const struct frbpf_node *n = &e->nodes[i];

		if (n->field != FRBPF_FIELD_ARG + slot)
			continue;
		if (is_string(e->strings[n->val[0]], n->op, &duration))
			return EXPR_STRING;
		return duration ? EXPR_DURATION : EXPR_NUMBER;
	}
	return EXPR_STRING; /* it is never compared: only `per` uses it */
}

/* Rules on the same message share slots, so they must agree on the type. */
static int check_type(const struct ruleset *rs, const struct rule_conf *rule,
		      const struct rule_arg *arg, struct diags *d)
{
	for (const struct rule_conf *r = rs->rules; r < rule; r++) {
		int i = when__same_events(&r->when, &rule->when)
				? rule_args__by_slot(&r->args, arg->slot)
				: -ENOENT;

		if (i < 0 || !r->args.v[i].bound ||
		    (r->args.v[i].type == EXPR_STRING) == (arg->type == EXPR_STRING))
			continue;
		return diags__error(d, rule->src, arg->at,
				    "rule '%s' compares '%s' with %s, and this one with %s",
				    r->name, arg->name,
				    arg->type == EXPR_STRING ? "a number" : "a string",
				    arg->type == EXPR_STRING ? "a string" : "a number");
	}
	return 0;
}

int when__bind_app(const struct ruleset *rs, struct rule_conf *rule, struct diags *d)
{
	int err = 0;

	for (uint32_t i = 0; i < rule->args.n && !err; i++) {
		struct rule_arg *arg = &rule->args.v[i];
		struct expr_field_desc field = {
			.name = arg->name,
			.field = FRBPF_FIELD_ARG + arg->slot,
			.type = type_of(&rule->expr, arg->slot),
			.min = INT64_MIN,
			.max = INT64_MAX,
		};

		if (!app_key__is_valid(arg->name, strlen(arg->name)))
			return diags__error(d, rule->src, arg->at,
					    "bad key " QUOTED ": a key is a letter, then at most "
					    "30 letters, digits, '_', '-' or '.'",
					    QUOTE(arg->name, strlen(arg->name)));
		err = expr__bind(&rule->expr, arg->slot, &field, rule->src, d);
		arg->type = field.type;
		arg->bound = !err;
		err = err ?: check_type(rs, rule, arg, d);
	}
	return err;
}
