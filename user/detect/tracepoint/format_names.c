// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/btf.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "detect/tracepoint/format_names.h"

/*
 * Reads the C code in the print format of a tracepoint: words, and constant expressions such as
 * (1UL << 3) | 2.
 */

enum format_word_kind {
	FORMAT_END,
	FORMAT_NAME,
	FORMAT_NUMBER,
	FORMAT_STRING, /* the text between the quotes, with its escapes */
	FORMAT_SIGN,   /* an operator or a bracket, of up to two characters */
};

/* The position of a reader, on one word. To return to a position, keep a copy of it. */
struct format_words {
	const char *next, *end; /* of the text; borrowed */
	enum format_word_kind kind;
	const char *s; /* the word, and its bytes */
	size_t len;
};

/* Get the value of a named constant. 0, -ENOENT or -ENOMEM. */
typedef int (*format_constant_fn)(const char *name, size_t len, void *arg, int64_t *ret);

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

static void format_words__next(struct format_words *w)
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

/* Go to the first word of @text. */
static void format_words__start(struct format_words *w, const char *text, size_t len)
{
	*w = (struct format_words){ .next = text, .end = text + len };
	format_words__next(w);
}

/* Is the current word the name or sign @word? */
static bool format_words__is(const struct format_words *w, const char *word)
{
	return (w->kind == FORMAT_NAME || w->kind == FORMAT_SIGN) && strlen(word) == w->len &&
	       !memcmp(w->s, word, w->len);
}

/* If the current word is @word, skip it and return true. */
static bool format_words__skip(struct format_words *w, const char *word)
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

/* "(unsigned long)", "(u32)" before a value: two names, or one that no operator follows. */
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

/* Evaluate a value and what follows by operators of @level and above. */
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

/*
 * Evaluate the constant expression at @w and go past it. Calculates in 64 bits and ignores casts.
 * 0; -EINVAL: not understood; -ENOENT: @find does not know a name; or -ENOMEM.
 */
static int format_expr__eval(struct format_words *w, format_constant_fn find, void *arg,
			     int64_t *ret)
{
	return eval_level(&(struct eval){ .w = w, .find = find, .arg = arg }, LEVEL_LOWEST, ret);
}

#define NAME_MAX_LEN 128

struct search {
	struct event_format *f;
	struct btf *btf; /* of the kernel; loaded at the first use */
	bool no_btf;
};

/* A growing list of names; the last is { NULL }. */
struct names {
	struct constant *v;
	size_t n, cap;
};

static bool find_in_enum(const struct btf *btf, const struct btf_type *t, const char *name,
			 int64_t *ret)
{
	for (uint32_t i = 0; i < btf_vlen(t); i++) {
		bool wide = btf_is_enum64(t);
		uint32_t off = wide ? btf_enum64(t)[i].name_off : btf_enum(t)[i].name_off;

		if (strcmp(btf__name_by_offset(btf, off) ?: "", name))
			continue;
		*ret = wide ? (int64_t)btf_enum64_value(&btf_enum64(t)[i]) : btf_enum(t)[i].val;
		return true;
	}
	return false;
}

/*
 * An enumerator that the header of the tracepoint does not export: { TCP_ESTABLISHED,
 * "TCP_ESTABLISHED" }.
 */
static int find_in_kernel(const char *s, size_t len, void *arg, int64_t *ret)
{
	struct search *search = arg;
	char name[NAME_MAX_LEN];

	if (len >= sizeof(name))
		return -ENOENT;
	memcpy(name, s, len);
	name[len] = '\0';
	if (!search->btf && !search->no_btf) {
		search->btf = btf__load_vmlinux_btf();
		if (!search->btf && errno == ENOMEM)
			return -ENOMEM;
		search->no_btf = !search->btf;
	}
	for (uint32_t id = 1; search->btf && id < btf__type_cnt(search->btf); id++) {
		const struct btf_type *t = btf__type_by_id(search->btf, id);

		if (btf_is_any_enum(t) && find_in_enum(search->btf, t, name, ret))
			return 0;
	}
	return -ENOENT;
}

static bool is_format_name(const char *s)
{
	return (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '_';
}

/* Read one string, or several adjacent ones. False: there is none, or it is too long. */
static bool take_strings(struct format_words *w, char *ret, size_t size)
{
	size_t len = 0;
	bool fits = w->kind == FORMAT_STRING;

	for (; w->kind == FORMAT_STRING; format_words__next(w)) {
		fits &= w->len < size - len;
		if (fits) {
			memcpy(ret + len, w->s, w->len);
			len += w->len;
		}
	}
	ret[len] = '\0';
	return fits;
}

static int add_value_name(struct names *names, const char *name, int64_t value)
{
	char *copy;

	if (!ARRAY_HAS_ROOM(names->v, names->n + 1, names->cap, 16))
		return -ENOMEM;
	names->v[names->n] = (struct constant){ NULL };
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	names->v[names->n++] = (struct constant){ copy, value };
	names->v[names->n] = (struct constant){ NULL };
	return 0;
}

/* { VALUE, "NAME" }, { VALUE, "NAME" } ... */
static int take_symbolic_names(struct search *s, struct format_words *w, struct names *ret)
{
	char name[NAME_MAX_LEN];
	int64_t value;
	int err;

	while (format_words__skip(w, "{")) {
		err = format_expr__eval(w, find_in_kernel, s, &value);
		if (!err && format_words__skip(w, ",") && take_strings(w, name, sizeof(name)) &&
		    is_format_name(name))
			err = add_value_name(ret, name, value);
		if (err == -ENOMEM)
			return err;
		while (w->kind != FORMAT_END && !format_words__is(w, "}"))
			format_words__next(w);
		format_words__next(w);
		if (!format_words__skip(w, ","))
			break;
	}
	return 0;
}

/* The value in a call, up to the next comma. */
struct operand {
	const char *name; /* of the field: REC->NAME */
	size_t len;
	bool other; /* there is more than the field, casts and brackets */
};

/* Read REC->state, a cast of it or, with @bits, some bits of it. */
static struct operand take_format_operand(struct format_words *w, bool bits)
{
	struct operand v = { 0 };
	int depth = 0, depth_of_mask = -1;

	for (; w->kind != FORMAT_END; format_words__next(w)) {
		const bool opens = format_words__is(w, "("), closes = format_words__is(w, ")");

		if (!depth && (closes || format_words__is(w, ",")))
			break;
		depth += opens - closes;
		if (depth_of_mask > depth)
			depth_of_mask = -1;
		if (!v.name && format_words__is(w, "REC")) {
			format_words__next(w);
			v.other |= !format_words__skip(w, "->") || w->kind != FORMAT_NAME;
			v.name = w->s;
			v.len = w->len;
		} else if (v.name && bits && depth_of_mask < 0 && format_words__is(w, "&")) {
			depth_of_mask = depth;
		} else if (depth_of_mask >= 0) {
			/* anything may be in the mask itself, but no "| x" next to it */
			v.other |= format_words__is(w, "REC") ||
				   (depth == depth_of_mask && w->kind == FORMAT_SIGN && !closes &&
				    !format_words__is(w, "~"));
		} else if (!closes) {
			v.other |= v.name ||
				   (!opens && w->kind != FORMAT_NAME && !format_words__is(w, "*"));
		}
	}
	return v;
}

static struct event_field *find_field(struct event_format *f, const struct operand *v)
{
	for (size_t i = 0; v->name && !v->other && i < f->n; i++)
		if (strlen(f->fields[i].name) == v->len &&
		    !memcmp(f->fields[i].name, v->name, v->len))
			return &f->fields[i];
	return NULL;
}

/*
 * Read a call after "__print_symbolic(" or, with @flags, "__print_flags(", which has a separator.
 */
static int take_call(struct search *s, struct format_words *w, bool flags)
{
	struct operand v = take_format_operand(w, flags);
	struct event_field *field = find_field(s->f, &v);
	struct names names = { 0 };
	int err;

	if (!field || field->symbols || !format_words__skip(w, ","))
		return 0;
	if (flags) {
		while (w->kind == FORMAT_STRING)
			format_words__next(w);
		if (!format_words__skip(w, ","))
			return 0;
	}
	err = take_symbolic_names(s, w, &names);
	if (err) {
		format_names__free(names.v);
		return err;
	}
	field->symbols = names.v;
	return 0;
}

int format_names__find(const char *text, size_t len, struct event_format *f)
{
	struct search s = { .f = f };
	struct format_words w;
	int err = 0;

	format_words__start(&w, text, len);
	while (w.kind != FORMAT_END && !err) {
		bool flags = format_words__is(&w, "__print_flags") ||
			     format_words__is(&w, "__print_flags_u64");
		bool symbolic = format_words__is(&w, "__print_symbolic") ||
				format_words__is(&w, "__print_symbolic_u64");

		format_words__next(&w);
		if ((flags || symbolic) && format_words__skip(&w, "("))
			err = take_call(&s, &w, flags);
	}
	btf__free(s.btf);
	return err;
}

void format_names__free(struct constant *symbols)
{
	for (struct constant *s = symbols; s && s->name; s++)
		free((char *)s->name);
	free(symbols);
}
