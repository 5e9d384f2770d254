// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/nearest_word.h"
#include "detect/tracepoint/fields_bind.h"
#include "rules/constants.h"
#include "rules/glob.h"
#include "rules/text.h"

/* An argument that is a comparison is called "FIELD==TEXT" or "FIELD~PATTERN". */
#define EQUALS "=="
#define GLOB   "~"

#define NAMES_MAX 64 /* names that an error compares to find the nearest one */

const struct event_field *fields_bind__find(const struct event_format *f, const char *name,
					    const char **ret_text, bool *ret_glob)
{
	size_t len = strcspn(name, "=~");

	*ret_glob = name[len] == '~';
	*ret_text = name[len] ? name + len + (*ret_glob ? strlen(GLOB) : strlen(EQUALS)) : NULL;
	return event_format__find(f, name, len);
}

void fields_bind__value(const struct event_format *f, const char *name, const char *raw,
			size_t size, __u64 ret[2])
{
	const struct event_field *field;
	const char *text, *s;
	bool glob;
	size_t len;

	ret[0] = ret[1] = 0;
	field = fields_bind__find(f, name, &text, &glob);
	if (!field)
		return;
	if (!text) {
		event_field__value(field, raw, size, ret);
		return;
	}
	s = event_field__string(field, raw, size, &len);
	ret[0] = glob ? glob__match(text, s, len) : len == strlen(text) && !memcmp(s, text, len);
}

/* Get the text in quotes, with backslash escapes, or a bare word. */
static char *unquote_text(const char *s)
{
	size_t len = strlen(s), n = 0;
	char *text = malloc(len + 1);

	if (!text)
		return NULL;
	for (size_t i = *s == '"'; i < len && !(s[i] == '"' && *s == '"'); i++) {
		if (s[i] == '\\' && i + 1 < len)
			i++;
		text[n++] = s[i];
	}
	text[n] = '\0';
	return text;
}

/* Turn a comparison of a string field into an argument of its own. */
static int make_comparison(const struct ruleset *rs, struct rule_conf *rule, struct frbpf_node *n,
			   const char *field, const char *text, bool glob, struct diags *d)
{
	struct span at = { n->val[1] >> 32, (uint32_t)n->val[1] };
	_cleanup_free_ char *name = NULL;
	const char *why;
	size_t least;
	int i;

	if (glob && glob__compile(text, NULL, &least, &why))
		return diags__error(d, rule->src, at, "bad pattern " QUOTED ": %s",
				    QUOTE(text, strlen(text)), why);
	if (asprintf(&name, "%s%s%s", field, glob ? GLOB : EQUALS, text) < 0) {
		name = NULL;
		return -ENOMEM;
	}
	i = arg_slots__add(rs, rule, name);
	if (i == -ENOSPC)
		return diags__error(
			d, rule->src, at,
			"rules on %s have more than %d fields, patterns and long strings "
			"together",
			rule->when.target, FRBPF_MAX_ARGS);
	if (i < 0)
		return i;
	n->field = FRBPF_FIELD_ARG + rule->args.v[i].slot;
	n->op = n->op == FRBPF_OP_NE || n->op == FRBPF_OP_NO_GLOB ? FRBPF_OP_NE : FRBPF_OP_EQ;
	n->val[0] = 1;
	n->val[1] = 0;
	return 0;
}

/* Call make_comparison() for each comparison that the engine cannot decide by 15 bytes. */
static int make_comparisons(const struct ruleset *rs, struct rule_conf *rule, uint32_t slot,
			    const char *field, struct diags *d)
{
	int err = 0;

	for (uint32_t i = 0; i < rule->expr.n_nodes && err != -ENOMEM; i++) {
		struct frbpf_node *n = &rule->expr.nodes[i];
		bool glob = n->op == FRBPF_OP_GLOB || n->op == FRBPF_OP_NO_GLOB;
		_cleanup_free_ char *text = NULL;

		if (n->field != FRBPF_FIELD_ARG + slot)
			continue;
		text = unquote_text(rule->expr.strings[n->val[0]]);
		if (!text)
			return -ENOMEM;
		if (glob || ((n->op == FRBPF_OP_EQ || n->op == FRBPF_OP_NE) &&
			     strlen(text) >= FRBPF_COMM_LEN))
			err = make_comparison(rs, rule, n, field, text, glob, d) ?: err;
	}
	return err;
}

static int unknown_format_field(const struct rule_conf *rule, const struct rule_arg *arg,
				const struct event_format *f, const char *more, struct diags *d)
{
	const char *names[NAMES_MAX + 1] = { NULL }, *nearest;
	char all[512] = "";

	for (size_t i = 0; i < f->n && i < NAMES_MAX; i++) {
		size_t len = strlen(all);

		names[i] = f->fields[i].name;
		snprintf(all + len, sizeof(all) - len, " %s", names[i]);
	}
	nearest = nearest_word(arg->name, strlen(arg->name), names);
	return diags__error(
		d, rule->src, arg->at,
		"'%s' of %s is neither an argument nor a field of its format" DID_YOU_MEAN "%s%s%s",
		arg->name, rule->when.target, SUGGEST(nearest), nearest ? "" : ": use one of",
		nearest ? "" : all, nearest ? "" : more);
}

static void set_desc_range(struct expr_field_desc *desc, const struct event_field *field)
{
	unsigned int bits = 8 * field->at.size;

	if (field->at.is_signed) {
		desc->max = bits < 64 ? (1LL << (bits - 1)) - 1 : INT64_MAX;
		desc->min = -desc->max - 1;
	} else {
		desc->max = bits < 63 ? (1LL << bits) - 1 : INT64_MAX;
	}
}

static int bind_arg(const struct ruleset *rs, struct rule_conf *rule, uint32_t index,
		    const struct event_format *f, const char *more, struct diags *d)
{
	struct rule_arg *arg = &rule->args.v[index];
	const struct event_field *field = event_format__find(f, arg->name, strlen(arg->name));
	struct expr_field_desc desc = { .name = arg->name,
					.field = FRBPF_FIELD_ARG + arg->slot,
					.of_event = true };
	int err;

	if (!field)
		return unknown_format_field(rule, arg, f, more, d);
	if (field->kind == EVENT_FIELD_OTHER)
		return diags__error(
			d, rule->src, arg->at,
			"'%s' of %s is neither a number nor a string nor an address: it "
			"cannot be compared",
			arg->name, rule->when.target);
	desc.type = event_field__type(field);
	desc.symbols = constant__of_tracepoint(rule->when.target, arg->name) ?: field->symbols;
	if (desc.type == EXPR_NUMBER)
		set_desc_range(&desc, field);
	if (desc.type == EXPR_STRING) {
		err = make_comparisons(rs, rule, arg->slot, arg->name, d);
		if (err)
			return err;
		arg = &rule->args.v[index];
	}
	err = expr__bind(&rule->expr, arg->slot, &desc, rule->src, d);
	if (!err) {
		arg->bound = true;
		arg->type = desc.type;
		arg->symbols = constant__of_tracepoint(rule->when.target, arg->name);
	}
	return err;
}

int fields_bind__rule(const struct ruleset *rs, struct rule_conf *rule,
		      const struct event_format *f, const char *more, struct diags *d)
{
	uint32_t n = rule->args.n; /* comparisons are appended */
	int err = 0;

	for (uint32_t i = 0; i < rule->expr.n_nodes; i++) {
		if (rule->expr.nodes[i].field == FRBPF_FIELD_EXE ||
		    rule->expr.nodes[i].field == FRBPF_FIELD_CGROUP_PATH)
			return diags__error(d, rule->src, n ? rule->args.v[0].at : rule->when_span,
					    "frbpf reads %s of %s from the fields of its format: "
					    "`exe` and patterns of `cgroup` do not work with that",
					    n ? rule->args.v[0].name : "a hit", rule->when.target);
	}

	for (uint32_t i = 0; i < n && err != -ENOMEM; i++)
		err = bind_arg(rs, rule, i, f, more, d) ?: err;
	if (!err)
		rule->when.source = FRBPF_SOURCE_TRACEPOINT_FIELDS;
	return err;
}

/* Find the slot in which a rule on the same tracepoint has @name, or a free one. */
static int find_slot(const struct ruleset *rs, const struct rule_conf *rule, const char *name)
{
	uint32_t taken = 0;

	for (size_t i = 0; i < rs->n_rules; i++) {
		const struct rule_conf *r = &rs->rules[i];

		if (!r->when.target || strcmp(r->when.target, rule->when.target))
			continue;
		for (uint32_t k = 0; k < r->args.n; k++) {
			if (!strcmp(r->args.v[k].name, name))
				return r->args.v[k].slot;
			taken |= 1U << r->args.v[k].slot;
		}
	}
	for (int i = 0; i < FRBPF_MAX_ARGS; i++) {
		if (!(taken >> i & 1))
			return i;
	}
	return -ENOSPC;
}

int arg_slots__add(const struct ruleset *rs, struct rule_conf *rule, const char *name)
{
	int slot = find_slot(rs, rule, name), i;
	uint32_t n = rule->args.n;

	if (slot < 0)
		return slot;
	i = rule_args__add(&rule->args, name, strlen(name), rule->when_span);
	if (i >= 0 && rule->args.n > n)
		rule->args.v[i].slot = slot;
	return i;
}

/* ---- the event filter of the kernel ---- */

#define FILTER_MAX 4000 /* kernel: less than a page */
#define STRING_MAX 200	/* MAX_FILTER_STR_VAL is 256 */

static const char *const op_texts[FRBPF_OP_MAX] = {
	[FRBPF_OP_EQ] = "==", [FRBPF_OP_NE] = "!=", [FRBPF_OP_LT] = "<",   [FRBPF_OP_LE] = "<=",
	[FRBPF_OP_GT] = ">",  [FRBPF_OP_GE] = ">=", [FRBPF_OP_BITS] = "&",
};

/* Can the string be put in quotes without escapes? */
static bool is_plain_string(const char *s)
{
	return !strpbrk(s, "\"\\\n") && strlen(s) <= STRING_MAX && *s && *s != '!';
}

/* Add a comparison of a field. 1: the filter cannot express it. */
static int add_field(struct buf *out, const struct frbpf_node *n, const struct event_format *f,
		     const char *arg)
{
	const struct event_field *field;
	const char *text;
	char word[FRBPF_COMM_LEN + 1] = "";
	bool glob, not = n->op == FRBPF_OP_NE;

	field = fields_bind__find(f, arg, &text, &glob);
	if (!field)
		return 1;
	if (text && !is_plain_string(text))
		return 1;
	/* filters have no operator for "does not match": negate with ! */
	if (text && glob)
		return buf__printf(out, not ? "!(%s ~ \"%s\")" : "%s ~ \"%s\"", field->name, text);
	if (text)
		return buf__printf(out, "%s %s \"%s\"", field->name, not ? "!=" : "==", text);
	if (event_field__type(field) == EXPR_STRING) {
		memcpy(word, n->val, FRBPF_COMM_LEN);
		return is_plain_string(word) ? buf__printf(out, "%s %s \"%s\"", field->name,
							   not ? "!=" : "==", word)
					     : 1;
	}
	if (field->kind != EVENT_FIELD_NUMBER || !op_texts[n->op])
		return 1;
	return buf__printf(out, "%s %s %" PRId64, field->name, op_texts[n->op], (int64_t)n->val[0]);
}

/* Add a comparison of the task that runs, which is also the subject. */
static int add_common_condition(struct buf *out, const struct frbpf_node *n)
{
	char word[FRBPF_COMM_LEN + 1] = "";

	if (n->field == FRBPF_FIELD_CPU && op_texts[n->op] && n->op != FRBPF_OP_BITS)
		return buf__printf(out, "CPU %s %" PRId64, op_texts[n->op], (int64_t)n->val[0]);
	if (n->field != FRBPF_FIELD_COMM || (n->op != FRBPF_OP_EQ && n->op != FRBPF_OP_NE))
		return 1;
	memcpy(word, n->val, FRBPF_COMM_LEN);
	return is_plain_string(word) ? buf__printf(out, "COMM %s \"%s\"", op_texts[n->op], word)
				     : 1;
}

static int add_filter_node(struct buf *out, const struct frbpf_node *n,
			   const struct event_format *f, const struct rule_arg *const *args)
{
	if (n->field < FRBPF_FIELD_ARG)
		return add_common_condition(out, n);
	if (!args[n->field - FRBPF_FIELD_ARG])
		return 1;
	return add_field(out, n, f, args[n->field - FRBPF_FIELD_ARG]->name);
}

/* Add a condition. 1: nothing of a conjunction can be expressed, so every event must pass. */
static int add_nodes(struct buf *out, const struct frbpf_node *nodes, uint32_t n,
		     const struct event_format *f, const struct rule_arg *const *args)
{
	bool first = true;
	int err;

	if (!n)
		return 1;
	for (uint32_t i = 0; i < n; i++) {
		size_t before = out->len;

		err = buf__add_str(out, !first ? " && " : out->len ? " || (" : "(");
		err = err ?: add_filter_node(out, &nodes[i], f, args);
		if (err < 0)
			return err;
		if (err > 0)
			out->len = before;
		else
			first = false;
		if (!(nodes[i].flags & FRBPF_NODE_END))
			continue;
		if (first)
			return 1;
		err = buf__add_str(out, ")");
		if (err)
			return err;
		first = true;
	}
	return 0;
}

static char *finish_filter(struct buf *out, int err)
{
	if (err < 0) {
		buf__free(out);
		return NULL;
	}
	if (!err && out->len < FILTER_MAX && out->data)
		return out->data;
	buf__free(out);
	return strdup("");
}

char *event_filter__make(const struct rule_table *table, const struct event_format *f)
{
	struct buf out = { 0 };
	int err = table->bank.n_rules ? 0 : 1;

	for (uint32_t i = 0; i < table->bank.n_rules && !err; i++)
		err = add_nodes(&out, table->rules[i].nodes, table->rules[i].n_nodes, f,
				table->args);
	return finish_filter(&out, err);
}

char *event_filter__of_rule(const struct rule_conf *rule, const struct event_format *f)
{
	const struct rule_arg *args[FRBPF_MAX_ARGS] = { NULL };
	struct buf out = { 0 };

	for (uint32_t i = 0; i < rule->args.n; i++)
		args[rule->args.v[i].slot] = &rule->args.v[i];
	return finish_filter(&out, add_nodes(&out, rule->expr.nodes, rule->expr.n_nodes, f, args));
}
