// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "detect/tracepoint/event_filter.h"
#include "detect/tracepoint/fields_bind.h"

#define FILTER_MAX 4000 /* kernel: less than a page */
#define STRING_MAX 200	/* MAX_FILTER_STR_VAL is 256 */

static const char *const op_texts[FRBPF_OP_MAX] = {
	[FRBPF_OP_EQ] = "==", [FRBPF_OP_NE] = "!=", [FRBPF_OP_LT] = "<",   [FRBPF_OP_LE] = "<=",
	[FRBPF_OP_GT] = ">",  [FRBPF_OP_GE] = ">=", [FRBPF_OP_BITS] = "&",
};

/* Can the string be put in quotes without escapes? */
static bool is_plain(const char *s)
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
	if (text && !is_plain(text))
		return 1;
	/* filters before 6.x have no "does not match": use ! */
	if (text && glob)
		return buf__printf(out, not ? "!(%s ~ \"%s\")" : "%s ~ \"%s\"", field->name, text);
	if (text)
		return buf__printf(out, "%s %s \"%s\"", field->name, not ? "!=" : "==", text);
	if (event_field__type(field) == EXPR_STRING) {
		memcpy(word, n->val, FRBPF_COMM_LEN);
		return is_plain(word) ? buf__printf(out, "%s %s \"%s\"", field->name,
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
	return is_plain(word) ? buf__printf(out, "COMM %s \"%s\"", op_texts[n->op], word) : 1;
}

static int add_node(struct buf *out, const struct frbpf_node *n, const struct event_format *f,
		    const struct rule_arg *const *args)
{
	if (n->field < FRBPF_FIELD_ARG)
		return add_common_condition(out, n);
	if (!args[n->field - FRBPF_FIELD_ARG])
		return 1;
	return add_field(out, n, f, args[n->field - FRBPF_FIELD_ARG]->name);
}

/* Add a condition. 1: a conjunction cannot be expressed at all, so everything must pass. */
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
		err = err ?: add_node(out, &nodes[i], f, args);
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
