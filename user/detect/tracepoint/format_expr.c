// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "detect/tracepoint/format_expr.h"

#define NESTED_MAX 64 /* nested brackets and operators */
#define DIGITS_MAX 32

/* ---- words ---- */

static bool is_identifier_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static void take_word_string(struct format_words *w)
{
	const char *p = w->s + 1;

	while (p < w->end && *p != '"')
		p += *p == '\\' && p + 1 < w->end ? 2 : 1;
	w->kind = FORMAT_STRING;
	w->s++;
	w->len = p - w->s;
	w->next = p < w->end ? p + 1 : p;
}

static void take_sign(struct format_words *w)
{
	static const char pairs[][3] = { "<<", ">>", "->", "<=", ">=", "==", "!=", "&&", "||" };

	w->kind = FORMAT_SIGN;
	w->len = 1;
	for (size_t i = 0; i < ARRAY_SIZE(pairs) && w->end - w->s > 1; i++)
		if (!memcmp(w->s, pairs[i], 2))
			w->len = 2;
	w->next = w->s + w->len;
}

void format_words__next(struct format_words *w)
{
	const char *p = w->next;

	while (p < w->end && isspace((unsigned char)*p))
		p++;
	w->s = w->next = p;
	w->len = 0;
	w->kind = FORMAT_END;
	if (p == w->end)
		return;
	if (*p == '"') {
		take_word_string(w);
	} else if (is_identifier_char(*p)) {
		while (p < w->end && is_identifier_char(*p))
			p++;
		w->kind = isdigit((unsigned char)*w->s) ? FORMAT_NUMBER : FORMAT_NAME;
		w->len = p - w->s;
		w->next = p;
	} else {
		take_sign(w);
	}
}

void format_words__start(struct format_words *w, const char *text, size_t len)
{
	*w = (struct format_words){ .next = text, .end = text + len };
	format_words__next(w);
}

bool format_words__is(const struct format_words *w, const char *word)
{
	return (w->kind == FORMAT_NAME || w->kind == FORMAT_SIGN) && strlen(word) == w->len &&
	       !memcmp(w->s, word, w->len);
}

bool format_words__skip(struct format_words *w, const char *word)
{
	if (!format_words__is(w, word))
		return false;
	format_words__next(w);
	return true;
}

/* ---- constants ---- */

struct eval {
	struct format_words *w;
	format_constant_fn find;
	void *arg;
	unsigned int depth;
};

/* As in C, a higher level binds tighter. Constants have no comparisons. */
static const struct binary {
	char sign[3];
	int level;
} binaries[] = {
	{ "*", 6 },  { "/", 6 },  { "%", 6 }, { "+", 5 }, { "-", 5 },
	{ "<<", 4 }, { ">>", 4 }, { "&", 3 }, { "^", 2 }, { "|", 1 },
};

#define LEVEL_LOWEST 1
#define LEVEL_UNARY  7

static int eval_level(struct eval *e, int level, int64_t *ret);

/* 0x10, 010, 12ULL */
static int eval_number(const struct format_words *w, int64_t *ret)
{
	char digits[DIGITS_MAX], *end;

	if (w->len >= sizeof(digits))
		return -EINVAL;
	memcpy(digits, w->s, w->len);
	digits[w->len] = '\0';
	errno = 0;
	*ret = strtoll(digits, &end, 0);
	return errno || end[strspn(end, "uUlL")] ? -EINVAL : 0;
}

/* Skip a cast such as "(unsigned long)" or "(u32)": two names, or one that no operator follows. */
static bool skip_cast(struct format_words *w)
{
	struct format_words p = *w;
	unsigned int names = 0;

	if (!format_words__skip(&p, "("))
		return false;
	for (; p.kind == FORMAT_NAME; names++)
		format_words__next(&p);
	while (names && format_words__is(&p, "*"))
		format_words__next(&p);
	if (!names || !format_words__skip(&p, ")"))
		return false;
	if (names == 1 && p.kind != FORMAT_NAME && p.kind != FORMAT_NUMBER &&
	    !format_words__is(&p, "(") && !format_words__is(&p, "~"))
		return false;
	*w = p;
	return true;
}

static int eval_name(struct eval *e, int64_t *ret)
{
	const struct format_words name = *e->w;

	format_words__next(e->w);
	return format_words__is(e->w, "(") ? -EINVAL : e->find(name.s, name.len, e->arg, ret);
}

static int eval_unary(struct eval *e, int64_t *ret)
{
	struct format_words *w = e->w;
	const char sign = w->kind == FORMAT_SIGN && w->len == 1 ? *w->s : '\0';
	int err;

	if (skip_cast(w))
		return eval_level(e, LEVEL_UNARY, ret);
	switch (sign) {
	case '\0':
		if (w->kind == FORMAT_NAME)
			return eval_name(e, ret);
		err = w->kind == FORMAT_NUMBER ? eval_number(w, ret) : -EINVAL;
		format_words__next(w);
		return err;
	case '(':
		format_words__next(w);
		err = eval_level(e, LEVEL_LOWEST, ret);
		return err ?: (format_words__skip(w, ")") ? 0 : -EINVAL);
	case '+':
	case '-':
	case '~':
	case '!':
		format_words__next(w);
		err = eval_level(e, LEVEL_UNARY, ret);
		if (sign == '-')
			*ret = -(uint64_t)*ret;
		else if (sign == '~')
			*ret = ~*ret;
		else if (sign == '!')
			*ret = !*ret;
		return err;
	default:
		return -EINVAL;
	}
}

static const struct binary *find_binary(const struct format_words *w)
{
	for (size_t i = 0; i < ARRAY_SIZE(binaries); i++)
		if (w->kind == FORMAT_SIGN && format_words__is(w, binaries[i].sign))
			return &binaries[i];
	return NULL;
}

static int apply_sign(char sign, int64_t a, int64_t b, int64_t *ret)
{
	const uint64_t ua = a, ub = b;

	if (strchr("<>", sign) && ub > 63)
		return -EINVAL;
	if (strchr("/%", sign) && b <= 0) /* not used by any format */
		return -EINVAL;
	switch (sign) {
	case '*':
		*ret = ua * ub;
		break;
	case '/':
		*ret = a / b;
		break;
	case '%':
		*ret = a % b;
		break;
	case '+':
		*ret = ua + ub;
		break;
	case '-':
		*ret = ua - ub;
		break;
	case '<': /* << */
		*ret = ua << ub;
		break;
	case '>':
		*ret = a >> ub;
		break;
	case '&':
		*ret = ua & ub;
		break;
	case '^':
		*ret = ua ^ ub;
		break;
	default:
		*ret = ua | ub;
		break;
	}
	return 0;
}

/* Evaluate a value, and all that operators of @level and above combine with it. */
static int eval_level(struct eval *e, int level, int64_t *ret)
{
	const struct binary *op;
	int64_t left = 0, right = 0;
	int err;

	if (++e->depth > NESTED_MAX)
		return -EINVAL;
	err = eval_unary(e, &left);
	while (!err && (op = find_binary(e->w)) && op->level >= level) {
		format_words__next(e->w);
		err = eval_level(e, op->level + 1, &right)
			      ?: apply_sign(*op->sign, left, right, &left);
	}
	e->depth--;
	if (!err)
		*ret = left;
	return err;
}

int format_expr__eval(struct format_words *w, format_constant_fn find, void *arg, int64_t *ret)
{
	return eval_level(&(struct eval){ .w = w, .find = find, .arg = arg }, LEVEL_LOWEST, ret);
}
