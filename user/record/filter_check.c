// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/format_field.h"
#include "common/nearest_word.h"
#include "record/filter_check.h"
#include "rules/diag.h"

#define FIELDS_MAX 128
#define WORD_MAX   64

enum filter_kind { FILTER_NUMBER, FILTER_TEXT, FILTER_OTHER /* arrays, pointers, masks */ };

struct filter_field {
	char name[WORD_MAX];
	enum filter_kind kind;
};

struct filter_parser {
	const struct tracepoint *tp;
	const char *at;
	struct filter_field fields[FIELDS_MAX];
	size_t n;
	struct err *err;
};

static void add_filter_field(struct filter_parser *p, const char *name, size_t len,
			     enum filter_kind kind)
{
	struct filter_field *f = &p->fields[p->n];

	if (p->n == FIELDS_MAX || len >= sizeof(f->name))
		return;
	memcpy(f->name, name, len);
	f->name[len] = '\0';
	f->kind = kind;
	p->n++;
}

/* As filter_assign_type() in the kernel. */
static enum filter_kind filter_kind_of(const struct format_line *l)
{
	static const char text[] = "const char *", *plain = text + strlen("const ");

	if ((l->is_array && format_line__type_has(l, "char")) ||
	    (l->type_len == strlen(text) && !memcmp(l->type, text, l->type_len)) ||
	    (l->type_len == strlen(plain) && !memcmp(l->type, plain, l->type_len)))
		return FILTER_TEXT;
	return l->is_array || format_line__type_has(l, "*") || l->field.storage ? FILTER_OTHER
										: FILTER_NUMBER;
}

static void add_filter_fields(struct filter_parser *p)
{
	static const char *const texts[] = { "comm", "COMM" };
	static const char *const numbers[] = { "cpu",	      "CPU",
					       "stacktrace",  "STACKTRACE",
					       "common_type", "common_flags",
					       "common_pid",  "common_preempt_count" };
	const char *at = p->tp->format;
	struct format_line l;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		add_filter_field(p, texts[i], strlen(texts[i]), FILTER_TEXT);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		add_filter_field(p, numbers[i], strlen(numbers[i]), FILTER_OTHER);
	while (format_text__next(&at, p->tp->format + p->tp->format_len, &l)) {
		if (!format_line__is_common(&l))
			add_filter_field(p, l.name, l.name_len, filter_kind_of(&l));
	}
}

static void skip_filter_blanks(struct filter_parser *p)
{
	p->at += strspn(p->at, " \t\n");
}

static int unknown_filter_field(struct filter_parser *p, const char *name, size_t len)
{
	const char *names[FIELDS_MAX + 1], *near;

	for (size_t i = 0; i < p->n; i++)
		names[i] = p->fields[i].name;
	names[p->n] = NULL;
	near = nearest_word(name, len, names);
	if (near)
		return err_set(p->err, -EINVAL, "%s:%s has no field '%.*s' (did you mean '%s'?)",
			       p->tp->system, p->tp->name, (int)len, name, near);
	return err_set(p->err, -EINVAL,
		       "%s:%s has no field '%.*s': `frbpf events -v %s:%s` lists those that it has",
		       p->tp->system, p->tp->name, (int)len, name, p->tp->system, p->tp->name);
}

/* Length of the operator at @s; 0: none. */
static size_t filter_operator(const char *s)
{
	static const char *const operators[] = { "==", "!=", "<=", ">=", "<", ">", "~", "&" };

	for (size_t i = 0; i < ARRAY_SIZE(operators); i++) {
		size_t len = strlen(operators[i]);

		if (!strncmp(s, operators[i], len) && strncmp(s, "&&", 2) != 0)
			return len;
	}
	return 0;
}

static int take_filter_value(struct filter_parser *p, const struct filter_field *f,
			     const char *from)
{
	const char *end;
	char quote;

	skip_filter_blanks(p);
	quote = *p->at;
	if (quote == '"' || quote == '\'') {
		end = strchr(p->at + 1, quote);
		if (!end)
			return err_set(p->err, -EINVAL, "the text %.*s has no closing quote",
				       WORD_MAX, p->at);
		p->at = end + 1;
		if (f->kind == FILTER_NUMBER)
			return err_set(p->err, -EINVAL,
				       "'%s' is a number: write its value without quotes", f->name);
		return 0;
	}
	if (!*p->at || strchr("()&|", *p->at))
		return err_set(p->err, -EINVAL, "a value is missing after '%.*s'",
			       (int)(p->at - from), from);
	if (f->kind == FILTER_TEXT)
		return err_set(p->err, -EINVAL, "'%s' is text: its value needs quotes", f->name);
	if (!strncmp(p->at, "CPUS{", 5))
		return -EAGAIN;
	if (f->kind == FILTER_NUMBER && !isdigit((unsigned char)*p->at) && *p->at != '-')
		return err_set(p->err, -EINVAL, "'%s' is a number, and '%.*s' is not one", f->name,
			       (int)strcspn(p->at, " \t\n()&|"), p->at);
	p->at += strcspn(p->at, " \t\n()&|");
	return 0;
}

/* Parse FIELD OPERATOR VALUE. */
static int take_predicate(struct filter_parser *p)
{
	const char *from = p->at;
	const struct filter_field *f = NULL;
	size_t len = 0, op;

	while (isalnum((unsigned char)from[len]) || from[len] == '_')
		len++;
	if (!len)
		return -EAGAIN;
	for (size_t i = 0; i < p->n && !f; i++) {
		if (strlen(p->fields[i].name) == len && !memcmp(p->fields[i].name, from, len))
			f = &p->fields[i];
	}
	if (!f)
		return unknown_filter_field(p, from, len);
	p->at += len;
	if (*p->at == '.') /* FIELD.function, FIELD.ustring, or something newer */
		return -EAGAIN;
	skip_filter_blanks(p);
	op = filter_operator(p->at);
	if (!op)
		return err_set(p->err, -EINVAL,
			       "an operator is missing after '%s': == != < <= > >= & or ~",
			       f->name);
	if (f->kind == FILTER_TEXT && *p->at != '=' && *p->at != '!' && *p->at != '~')
		return err_set(p->err, -EINVAL, "'%s' is text: its operators are ==, != and ~",
			       f->name);
	p->at += op;
	return take_filter_value(p, f, from);
}

int filter_check__run(const struct tracepoint *tp, const char *filter, struct err *err)
{
	struct filter_parser p = { .tp = tp, .at = filter, .err = err };
	int code = 0, depth = 0;

	add_filter_fields(&p);
	for (skip_filter_blanks(&p); *p.at && !code; skip_filter_blanks(&p)) {
		if (*p.at == ')' && !depth)
			return err_set(err, -EINVAL, "a ')' has no '(' before it");
		if (strchr("()!", *p.at)) {
			depth += *p.at == '(' ? 1 : *p.at == ')' ? -1 : 0;
			p.at++;
		} else if (!strncmp(p.at, "&&", 2) || !strncmp(p.at, "||", 2)) {
			p.at += 2;
		} else {
			code = take_predicate(&p);
		}
	}
	if (code == -EAGAIN)
		return 0;
	return code || !depth ? code : err_set(err, -EINVAL, "a ')' is missing");
}
