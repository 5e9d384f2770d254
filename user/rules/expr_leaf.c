// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/nearest_word.h"
#include "rules/expr_tree.h"
#include "rules/glob.h"
#include "rules/text.h"
#include "rules/units.h"
#include "rules/when.h"

#define CURRENT	    "current."
#define PATTERN_MAX 128
#define DEVICE_MAX  128
#define OP(name)    (1U << FRBPF_OP_##name)

#define NAMES_MAX  64
#define LISTED_MAX 512 /* bytes of names that a message lists */

/* Find the nearest of all fields; fields of tasks are also known with "current." before them. */
static const char *nearest_field(const struct field_scope *scope, const char *s, size_t len)
{
	static const char *const currents[] = {
		CURRENT "comm", CURRENT "process", CURRENT "pid",  CURRENT "tid", CURRENT "ppid",
		CURRENT "uid",	CURRENT "cgroup",  CURRENT "prio", CURRENT "cpu", CURRENT "exe",
	};
	const char *names[NAMES_MAX + ARRAY_SIZE(currents) + 1] = { NULL };
	size_t n = 0;

	for (const struct expr_field_desc *f = expr_fields; f->name && n < NAMES_MAX; f++) {
		if (expr_field__is_of(f, scope->source))
			names[n++] = f->name;
	}
	memcpy(names + n, currents, sizeof(currents));
	return nearest_word(s, len, names);
}

/*
 * Was a field of this name listed already? If the source is unknown, several sources may have it.
 */
static bool field_is_listed(const struct expr_field_desc *f, enum frbpf_source source)
{
	for (const struct expr_field_desc *before = expr_fields; before < f; before++) {
		if (expr_field__is_of(before, source) && !strcmp(before->name, f->name))
			return true;
	}
	return false;
}

/* List the fields of this source in @buf, each after a blank. */
static const char *list_fields(const struct field_scope *scope, char buf[static LISTED_MAX])
{
	size_t len = 0;

	buf[0] = '\0';
	for (const struct expr_field_desc *f = expr_fields; f->name && len < LISTED_MAX; f++) {
		if (expr_field__is_of(f, scope->source) && !field_is_listed(f, scope->source))
			len += snprintf(buf + len, LISTED_MAX - len, " %s", f->name);
	}
	return buf;
}

static int unknown_expr_field(const struct field_scope *scope, const struct source_text *src,
			      struct span span, struct diags *d)
{
	char all[LISTED_MAX];
	const char *nearest;

	if (text__equals(src, span, "current") || text__equals(src, span, CURRENT))
		return diags__error(d, src, span,
				    "a field must follow 'current', such as current.comm");
	nearest = nearest_field(scope, src->text + span.off, span.len);
	list_fields(scope, all);
	return diags__error(d, src, span, "unknown field " QUOTED DID_YOU_MEAN "%s%s%s",
			    QUOTE_SPAN(src, span), SUGGEST(nearest), nearest ? "" : ": use one of",
			    nearest ? "" : all, nearest ? "" : " or current.FIELD");
}

/* Take a name that frbpf does not know: only the owner of the event knows its fields. */
static int take_field_arg(const struct field_scope *scope, const struct source_text *src,
			  struct span at, struct diags *d, uint32_t *ret_slot)
{
	int i = rule_args__add(scope->args, src->text + at.off, at.len, at);

	if (i == -ENOSPC)
		return diags__error(d, src, at, "a rule uses at most %d fields of its event",
				    FRBPF_MAX_ARGS);
	if (i >= 0)
		*ret_slot = scope->args->v[i].slot;
	return i < 0 ? i : 0;
}

int field_scope__find(const struct field_scope *scope, const struct source_text *src,
		      struct span at, struct diags *d, const struct expr_field_desc **ret,
		      uint32_t *ret_slot)
{
	const struct expr_field_desc *desc = expr_field__find(scope, src->text + at.off, at.len);
	char all[LISTED_MAX];

	*ret = NULL;
	if (scope->args && (!desc || !expr_field__is_of(desc, scope->source)))
		return take_field_arg(scope, src, at, d, ret_slot);
	if (!desc)
		return unknown_expr_field(scope, src, at, d);
	if (!expr_field__is_of(desc, scope->source))
		return diags__error(d, src, at, "'%s' has no field '%s': use one of%s",
				    when__source_name(scope->source), desc->name,
				    list_fields(scope, all));
	*ret = desc;
	return 0;
}

int leaf__field(const struct source_text *src, struct token field, const struct field_scope *scope,
		struct diags *d, struct leaf_field *ret)
{
	const struct expr_field_desc *desc;
	struct span base = field.span;
	bool current = false;

	if (base.len > strlen(CURRENT) && !memcmp(src->text + base.off, CURRENT, strlen(CURRENT))) {
		base.off += strlen(CURRENT);
		base.len -= strlen(CURRENT);
		current = true;
	}
	if (!current) {
		*ret = (struct leaf_field){ 0 };
		return field_scope__find(scope, src, base, d, &ret->desc, &ret->slot);
	}
	desc = expr_field__find(scope, src->text + base.off, base.len);
	if (!desc)
		return unknown_expr_field(scope, src, field.span, d);
	if (desc->of_event)
		return diags__error(
			d, src, field.span,
			"'%s' is a field of the event, not of a task: write it without '" CURRENT
			"'",
			desc->name);
	*ret = (struct leaf_field){ .desc = desc, .current = current };
	return 0;
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

static int add_string(struct tree *tree, const char *s, __u64 *ret_index)
{
	char *copy = strdup(s);

	if (!copy)
		return -ENOMEM;
	*ret_index = tree->n_strings;
	tree->strings[tree->n_strings++] = copy;
	return 0;
}

static int parse_glob(const struct source_text *src, struct token value, struct diags *d,
		      struct tree *tree, __u64 *val)
{
	char buf[PATTERN_MAX] = "";
	size_t len = 0, least;
	const char *why;

	if (string_value(src, value, d, buf, sizeof(buf) - 1, &len))
		return -EINVAL;
	if (len >= sizeof(buf))
		return diags__error(d, src, value.span,
				    "this pattern is too long: at most %zu bytes", sizeof(buf) - 1);
	if (glob__compile(buf, NULL, &least, &why))
		return diags__error(d, src, value.span, "bad pattern " QUOTED ": %s",
				    QUOTE_SPAN(src, value.span), why);
	if (least >= FRBPF_COMM_LEN)
		return diags__error(d, src, value.span,
				    "this can never match: it needs %zu bytes, and the kernel "
				    "keeps the first %d of a name",
				    least, FRBPF_COMM_LEN - 1);
	return add_string(tree, buf, val);
}

static int parse_string(const struct source_text *src, const struct expr_field_desc *field,
			struct token value, struct diags *d, __u64 *val)
{
	bool of_arg = field->field >= FRBPF_FIELD_ARG;
	char buf[FRBPF_COMM_LEN] = { 0 };
	const char *why;
	uint64_t number;
	size_t len = 0;

	if (value.type == TOKEN_WORD &&
	    units__number(src->text + value.span.off, value.span.len, &number, &why) != -EINVAL)
		return diags__error(d, src, value.span,
				    "'%s' is a string: its value needs double quotes", field->name);
	if (string_value(src, value, d, buf, sizeof(buf), &len))
		return -EINVAL;
	if (len >= FRBPF_COMM_LEN)
		return diags__error(d, src, value.span,
				    "this can never match: %s the first %d bytes of %s, here "
				    "\"%.*s\"",
				    of_arg ? "a rule sees" : "the kernel keeps", FRBPF_COMM_LEN - 1,
				    of_arg ? "it" : "a name", FRBPF_COMM_LEN - 1, buf);
	memcpy(val, buf, sizeof(buf));
	return 0;
}

/* Parse a path such as "/a/b", as in /proc/PID/cgroup: from the root of the hierarchy. */
static int parse_path(const struct source_text *src, struct token value, struct diags *d,
		      struct tree *tree, __u64 *val)
{
	char buf[FRBPF_PATH_LEN] = "";
	size_t len = 0, levels = 0;

	if (string_value(src, value, d, buf, sizeof(buf) - 1, &len))
		return -EINVAL;
	if (len >= sizeof(buf))
		return diags__error(d, src, value.span, "this path is too long: at most %zu bytes",
				    sizeof(buf) - 1);
	if (buf[0] != '/' || strstr(buf, "//") || strstr(buf, "/../") || strstr(buf, "/./"))
		return diags__error(d, src, value.span,
				    "a cgroup is a path such as \"/system.slice\", as in "
				    "/proc/PID/cgroup after \"0::\"");
	while (len > 1 && buf[len - 1] == '/')
		buf[--len] = '\0';
	for (const char *p = buf; len > 1 && *p; p++)
		levels += *p == '/';
	if (levels >= FRBPF_CGROUP_DEPTH)
		return diags__error(d, src, value.span,
				    "this cgroup is %zu levels deep: only the first %d are "
				    "compared; a glob compares all of them: cgroup ~ \"%s\"",
				    levels, FRBPF_CGROUP_DEPTH - 1, buf);
	return add_string(tree, buf, val);
}

/*
 * Parse a path, or a pattern for paths, for == != and ~. It begins with '/', or with a wildcard
 * that may match that.
 */
static int parse_path_pattern(const struct source_text *src, const struct expr_field_desc *field,
			      struct token value, bool literal, struct diags *d, struct tree *tree,
			      __u64 *val)
{
	bool exe = field->type == EXPR_EXE, text = field->type == EXPR_TEXT;
	bool name = field->type == EXPR_NAME || text;
	char buf[FRBPF_PATH_LEN] = "";
	size_t len = 0, names = 0;
	const char *why;

	if (string_value(src, value, d, buf, sizeof(buf) - 1, &len))
		return -EINVAL;
	if (len >= sizeof(buf))
		return diags__error(d, src, value.span, "this is too long: at most %d bytes",
				    GLOB_PATH_MAX);
	if (name && !len)
		return diags__error(d, src, value.span, "this can never match: %s",
				    text ? "an empty string is never compared"
					 : "a path is not empty");
	if (!name && buf[0] != '/' && (literal || !buf[0] || !strchr("*?[", buf[0])))
		return diags__error(d, src, value.span,
				    "this can never match: the path of %s begins with '/': write "
				    "\"%s\", or %s ~ \"*/%s\"",
				    exe ? "an executable" : "a cgroup",
				    exe ? "/usr/bin/..." : "/system.slice/...", field->name,
				    exe ? "NAME" : "*.service");
	for (const char *p = buf; *p; p++)
		names += *p == '/';
	if (!name && names > FRBPF_PATH_NAMES)
		return diags__error(
			d, src, value.span,
			"this can never match: only the first %d names of a path are compared",
			FRBPF_PATH_NAMES);
	if (glob__compile_path(buf, literal ? PATH_GLOB_EXACT : PATH_GLOB, NULL, &why))
		return diags__error(d, src, value.span, "bad pattern " QUOTED ": %s",
				    QUOTE_SPAN(src, value.span), why);
	return add_string(tree, buf, val);
}

/* Keep the name of a device: rule_table__build() looks it up. */
static int parse_device(const struct source_text *src, struct token value, struct diags *d,
			struct tree *tree, __u64 *val)
{
	char buf[DEVICE_MAX] = "";
	size_t len = 0;

	if (string_value(src, value, d, buf, sizeof(buf) - 1, &len))
		return -EINVAL;
	if (!len || len >= sizeof(buf) || !strcmp(buf, "/dev/") ||
	    (strncmp(buf, "/dev/", 5) && strchr(buf, '/')))
		return diags__error(d, src, value.span,
				    "a device is a name such as \"sda\", a path in /dev, or its "
				    "numbers \"8:0\"");
	val[1] = (__u64)value.span.off << 32 | value.span.len;
	return add_string(tree, buf, val);
}

/* Find the number for a name that the field knows. 0 or -ENOENT. */
static int find_symbol(const struct expr_field_desc *field, const char *s, size_t len, long *ret)
{
	bool minus = len && s[0] == '-';

	if (field->field == FRBPF_FIELD_SYSCALL) {
		*ret = syscall__number(s, len);
		return *ret < 0 ? -ENOENT : 0;
	}
	if (field->symbols != symbols_errno || field->min >= 0)
		return field->symbols ? constant__find(field->symbols, s, len, ret) : -ENOENT;
	/* calls return -EAGAIN, so the name means -11, never 11 */
	if (constant__find(symbols_errno, s + minus, len - minus, ret))
		return -ENOENT;
	*ret = -*ret;
	return 0;
}

/* Explain a name that field->others has: tell its number. */
static int symbol_of_others(const struct source_text *src, const struct expr_field_desc *field,
			    struct token value, struct diags *d)
{
	long n;

	if (!field->others ||
	    constant__find(field->others, src->text + value.span.off, value.span.len, &n))
		return -ENOENT;
	return diags__error(
		d, src, value.span,
		QUOTED
		" is a name of the tracepoint's format: a rule with a path needs %ld instead",
		QUOTE_SPAN(src, value.span), n);
}

static int unknown_symbol(const struct source_text *src, const struct expr_field_desc *field,
			  struct token value, struct diags *d)
{
	const char *s = src->text + value.span.off, *nearest = NULL;
	char all[LISTED_MAX];
	int err;

	err = symbol_of_others(src, field, value, d);
	if (err != -ENOENT)
		return err;
	if (field->field == FRBPF_FIELD_SYSCALL)
		nearest = nearest_word(s, value.span.len, syscall_names);
	else if (field->symbols)
		nearest = constant__nearest(field->symbols, s, value.span.len);
	else
		return diags__error(d, src, value.span,
				    "'%s' is a number, and " QUOTED " is not one%s", field->name,
				    QUOTE_SPAN(src, value.span),
				    field->of_event ? ": no names of its values are known" : "");
	if (!nearest && field->symbols && constant__list(field->symbols, all, sizeof(all)))
		return diags__error(d, src, value.span,
				    "'%s' has no value named " QUOTED ": use one of%s", field->name,
				    QUOTE_SPAN(src, value.span), all);
	return diags__error(d, src, value.span, "'%s' has no value named " QUOTED DID_YOU_MEAN,
			    field->name, QUOTE_SPAN(src, value.span), SUGGEST(nearest));
}

static int out_of_range(const struct source_text *src, const struct expr_field_desc *field,
			struct token value, struct diags *d, bool small)
{
	return diags__error(d, src, value.span, "'%s' is never %s than %lld", field->name,
			    small ? "smaller" : "larger",
			    (long long)(small ? field->min : field->max));
}

/* Is the field a device number? Its type does not tell, so go by its name, such as "s_dev". */
static bool is_device_number(const struct expr_field_desc *field)
{
	size_t len = strlen(field->name);

	return field->of_event && field->min >= 0 &&
	       (!strcmp(field->name, "dev") || !strcmp(field->name, "start.dev") ||
		(len > 4 && !strcmp(field->name + len - 4, "_dev")));
}

/* Parse "8:0" into the kernel's form, or a number. */
static int parse_device_number(const struct source_text *src, const struct expr_field_desc *field,
			       struct token value, struct diags *d, __u64 *val)
{
	char buf[DEVICE_MAX] = "", colon = 0, rest = 0;
	uint32_t major, minor;
	uint64_t number;
	const char *why;
	size_t len = 0;

	if (string_value(src, value, d, buf, sizeof(buf) - 1, &len))
		return -EINVAL;
	if (value.type != TOKEN_STRING && !units__number(buf, strlen(buf), &number, &why)) {
		if (number > (uint64_t)field->max)
			return out_of_range(src, field, value, d, false);
		val[0] = number;
		return 0;
	}
	if (!isdigit((unsigned char)buf[0]) ||
	    sscanf(buf, "%" SCNu32 "%c%" SCNu32 "%c", &major, &colon, &minor, &rest) != 3 ||
	    colon != ':' || major >= 1U << 12 || minor >= 1U << 20)
		return diags__error(d, src, value.span,
				    "'%s' is the number of a device: write MAJOR:MINOR, such as "
				    "8:0, as `lsblk` shows it",
				    field->name);
	val[0] = FRBPF_DEV((uint64_t)major, minor);
	return 0;
}

static int parse_number_value(const struct source_text *src, const struct expr_field_desc *field,
			      struct token value, struct diags *d, __u64 *val)
{
	const char *s = src->text + value.span.off, *why, *no_size;
	size_t len = value.span.len;
	bool minus = field->min < 0 && s[0] == '-' && len > 1;
	uint64_t number;
	long symbol;
	int err;

	if (is_device_number(field))
		return parse_device_number(src, field, value, d, val);
	if (value.type == TOKEN_STRING)
		return diags__error(d, src, value.span, "'%s' is a number: write it without quotes",
				    field->name);
	if (!find_symbol(field, s, len, &symbol)) {
		val[0] = symbol;
		return 0;
	}
	err = units__number(s + minus, len - minus, &number, &why);
	if (err == -EINVAL && !minus && !units__size(s, len, &number, &no_size))
		err = 0; /* a size, as in "bytes > 1M" */
	if (err == -EINVAL && (s[minus] < '0' || s[minus] > '9') && (minus || s[0] != '-'))
		return unknown_symbol(src, field, value, d);
	if (err == -EINVAL)
		return diags__error(d, src, value.span, "bad number " QUOTED ": %s",
				    QUOTE_SPAN(src, value.span), why);
	if (err || number > (minus ? -(uint64_t)field->min : (uint64_t)field->max))
		return out_of_range(src, field, value, d, minus);
	val[0] = minus ? -number : number;
	return 0;
}

static int parse_duration(const struct source_text *src, const struct expr_field_desc *field,
			  struct token value, struct diags *d, __u64 *val)
{
	uint64_t ns;

	if (value.type == TOKEN_STRING)
		return diags__error(d, src, value.span,
				    "'%s' is a duration: write it without quotes", field->name);
	if (text__duration(src, value.span, d, &ns))
		return -EINVAL;
	if (ns > (uint64_t)field->max)
		return out_of_range(src, field, value, d, false);
	val[0] = ns;
	return 0;
}

/* Operators that each type of field has. */
static const struct {
	uint32_t ops;
	const char *text;
} type_ops[] = {
	[EXPR_STRING] = { OP(EQ) | OP(NE) | OP(GLOB), "a string: use only ==, !=, ~ and in" },
	[EXPR_NUMBER] = { ~OP(GLOB), "a number: ~ does not apply" },
	[EXPR_DURATION] = { ~(OP(GLOB) | OP(BITS)), "a duration: ~ and & do not apply" },
	[EXPR_PATH] = { OP(EQ) | OP(NE) | OP(GLOB),
			"the path of a cgroup: use only ==, !=, ~ and in" },
	[EXPR_EXE] = { OP(EQ) | OP(NE) | OP(GLOB),
		       "the path of an executable: use only ==, !=, ~ and in" },
	[EXPR_NAME] = { OP(EQ) | OP(NE) | OP(GLOB), "a path: use only ==, !=, ~ and in" },
	[EXPR_TEXT] = { OP(EQ) | OP(NE) | OP(GLOB), "a string: use only ==, !=, ~ and in" },
	[EXPR_DEVICE] = { OP(EQ) | OP(NE), "a block device: use only ==, != and in" },
	[EXPR_IPV4] = { OP(EQ) | OP(NE), "an IPv4 address: use only ==, != and in" },
	[EXPR_IPV6] = { OP(EQ) | OP(NE), "an IPv6 address: use only ==, != and in" },
	[EXPR_ADDRESS] = { OP(EQ) | OP(NE), "an IP address: use only ==, != and in" },
};

static int wrong_operator(const struct source_text *src, const struct expr_field_desc *field,
			  struct token op, struct diags *d)
{
	return diags__error(d, src, op.span, "'%s' is %s", field->name, type_ops[field->type].text);
}

/* Keep the text: expr__bind() parses it when the type of the argument is known. */
static int keep_text(const struct source_text *src, const struct leaf_field *field, struct token op,
		     struct token value, struct tree *tree, struct frbpf_node *ret)
{
	char *text = strndup(src->text + value.span.off, value.span.len);

	if (!text)
		return -ENOMEM;
	*ret = (struct frbpf_node){
		.field = FRBPF_FIELD_ARG + field->slot,
		.op = op.op,
		.val = { tree->n_strings, (__u64)value.span.off << 32 | value.span.len },
	};
	tree->strings[tree->n_strings++] = text;
	return 0;
}

int leaf__parse(const struct source_text *src, const struct leaf_field *field, struct token op,
		struct token value, struct diags *d, struct tree *tree, struct frbpf_node *ret)
{
	const struct expr_field_desc *desc = field->desc;
	struct frbpf_node leaf = { .op = op.op };
	int err = -EINVAL;

	if (!desc)
		return keep_text(src, field, op, value, tree, ret);
	leaf.field = desc->field;
	leaf.flags = field->current ? FRBPF_NODE_CURRENT : 0;
	if (!(type_ops[desc->type].ops & 1U << op.op))
		return wrong_operator(src, desc, op, d);
	if (desc->type == EXPR_TEXT) {
		leaf.flags |= FRBPF_NODE_TEXT;
		leaf.prefix = desc->min;
	}
	if (desc->type == EXPR_EXE || desc->type == EXPR_NAME || desc->type == EXPR_TEXT ||
	    (desc->type == EXPR_PATH && op.op == FRBPF_OP_GLOB)) {
		leaf.field = desc->type == EXPR_PATH ? FRBPF_FIELD_CGROUP_PATH : desc->field;
		err = parse_path_pattern(src, desc, value, op.op != FRBPF_OP_GLOB, d, tree,
					 leaf.val);
	} else if (op.op == FRBPF_OP_GLOB) {
		err = parse_glob(src, value, d, tree, leaf.val);
	} else {
		switch (desc->type) {
		case EXPR_STRING:
			err = parse_string(src, desc, value, d, leaf.val);
			break;
		case EXPR_NUMBER:
			err = parse_number_value(src, desc, value, d, leaf.val);
			break;
		case EXPR_DURATION:
			err = parse_duration(src, desc, value, d, leaf.val);
			break;
		case EXPR_PATH:
			err = parse_path(src, value, d, tree, leaf.val);
			break;
		case EXPR_DEVICE:
			err = parse_device(src, value, d, tree, leaf.val);
			break;
		case EXPR_IPV4:
		case EXPR_IPV6:
		case EXPR_ADDRESS:
			err = leaf__parse_address(src, desc, value, d, &leaf);
			break;
		case EXPR_EXE: /* handled above */
		case EXPR_NAME:
		case EXPR_TEXT:
			break;
		}
	}
	if (!err && op.op == FRBPF_OP_BITS && !leaf.val[0])
		err = diags__error(d, src, value.span, "this can never match: no bit is set in 0");
	if (!err)
		*ret = leaf;
	return err;
}
