// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "rules/expr_tree.h"
#include "rules/text.h"
#include "rules/units.h"

#define CURRENT "current."

/* Of the design, for later versions. */
static const char *const later_fields[] = { "exe", "ppid", "cgroup", "prio", "value", NULL };

static const char *const names[] = {
	"comm",	       "process",     "pid",	      "tid",
	"uid",	       "cpu",	      CURRENT "comm", CURRENT "process",
	CURRENT "pid", CURRENT "tid", CURRENT "uid",  CURRENT "cpu",
	NULL,
};

static const struct expr_field_desc *find_field(const char *s, size_t len)
{
	for (const struct expr_field_desc *f = expr_fields; f->name; f++) {
		if (strlen(f->name) == len && !memcmp(f->name, s, len))
			return f;
	}
	return NULL;
}

static int unknown_field(const struct source_text *src, struct span span, struct span base,
			 struct diags *d)
{
	const char *nearest;

	for (const char *const *later = later_fields; *later; later++) {
		if (text__equals(src, base, *later))
			return diags__error(d, src, span, "the field '%s' is not supported yet",
					    *later);
	}
	if (text__equals(src, span, "current") || text__equals(src, span, CURRENT))
		return diags__error(d, src, span,
				    "'current' is followed by a field, such as current.comm");
	nearest = nearest_word(src->text + span.off, span.len, names);
	return diags__error(d, src, span, "unknown field " QUOTED DID_YOU_MEAN "%s",
			    QUOTE_SPAN(src, span), SUGGEST(nearest),
			    nearest ? ""
				    : ": there are comm process pid tid uid cpu and current.FIELD");
}

/* Decode a quoted string or take a bare word; *ret_len may exceed what fits into @buf. */
static int string_value(const struct source_text *src, struct token value, struct diags *d,
			char *buf, size_t size, size_t *ret_len)
{
	const char *s = src->text + value.span.off;
	bool open = value.type == TOKEN_STRING;
	size_t len = 0;

	for (size_t i = open ? 1 : 0; i < value.span.len; i++) {
		char c = s[i];

		if (c == '"') {
			open = false;
			break;
		}
		if (c == '\\' && isspace((unsigned char)s[i + 1])) {
			i += s[i + 1] == '\r' ? 2 : 1; /* a continued line */
			continue;
		}
		if (c == '\\' && i + 1 < value.span.len) {
			c = s[++i];
			c = c == 't' ? '\t' : c == 'n' ? '\n' : c == 'b' ? '\b' : c;
		}
		if (len < size)
			buf[len] = c;
		len++;
	}
	if (open)
		return diags__error(d, src, value.span, "the closing '\"' is missing");
	*ret_len = len;
	return 0;
}

static int parse_string(const struct source_text *src, const struct expr_field_desc *field,
			struct token value, struct diags *d, __u64 *val)
{
	char buf[FRBPF_COMM_LEN] = { 0 };
	const char *why;
	uint64_t number;
	size_t len = 0;

	if (value.type == TOKEN_WORD &&
	    units__number(src->text + value.span.off, value.span.len, &number, &why) != -EINVAL)
		return diags__error(d, src, value.span,
				    "'%s' is a string: its value stands in double quotes",
				    field->name);
	if (string_value(src, value, d, buf, sizeof(buf), &len))
		return -EINVAL;
	if (len >= FRBPF_COMM_LEN)
		return diags__error(d, src, value.span,
				    "this can never match: the kernel keeps the first %d bytes of "
				    "a name, here \"%.*s\"",
				    FRBPF_COMM_LEN - 1, FRBPF_COMM_LEN - 1, buf);
	memcpy(val, buf, sizeof(buf));
	return 0;
}

static int parse_number(const struct source_text *src, const struct expr_field_desc *field,
			struct token value, struct diags *d, __u64 *val)
{
	const char *s = src->text + value.span.off, *why;
	uint64_t number;
	int err;

	if (value.type == TOKEN_STRING)
		return diags__error(d, src, value.span, "'%s' is a number: write it without quotes",
				    field->name);
	err = units__number(s, value.span.len, &number, &why);
	if (err == -EINVAL && (s[0] < '0' || s[0] > '9') && s[0] != '-')
		return diags__error(d, src, value.span,
				    "'%s' is a number, and names such as " QUOTED
				    " are not supported yet",
				    field->name, QUOTE_SPAN(src, value.span));
	if (err == -EINVAL)
		return diags__error(d, src, value.span, "bad number " QUOTED ": %s",
				    QUOTE_SPAN(src, value.span), why);
	if (err || number > field->max)
		return diags__error(d, src, value.span, "'%s' is never larger than %llu",
				    field->name, (unsigned long long)field->max);
	val[0] = number;
	return 0;
}

int leaf__parse(const struct source_text *src, struct token field, struct token op,
		struct token value, struct diags *d, struct frbpf_node *ret)
{
	struct frbpf_node leaf = { .op = op.op };
	const struct expr_field_desc *desc;
	struct span base = field.span;
	int err;

	if (base.len > strlen(CURRENT) && !memcmp(src->text + base.off, CURRENT, strlen(CURRENT))) {
		base.off += strlen(CURRENT);
		base.len -= strlen(CURRENT);
		leaf.flags = FRBPF_NODE_CURRENT;
	}
	desc = find_field(src->text + base.off, base.len);
	if (!desc)
		return unknown_field(src, field.span, base, d);
	leaf.field = desc->field;
	if (desc->is_string && op.op != FRBPF_OP_EQ && op.op != FRBPF_OP_NE)
		return diags__error(d, src, op.span,
				    "'%s' is a string: it has only == and !=", desc->name);
	err = desc->is_string ? parse_string(src, desc, value, d, leaf.val)
			      : parse_number(src, desc, value, d, leaf.val);
	if (!err)
		*ret = leaf;
	return err;
}
