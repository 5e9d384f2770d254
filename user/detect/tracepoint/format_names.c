// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/btf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "detect/tracepoint/format_expr.h"
#include "detect/tracepoint/format_names.h"

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
 * Find the value of an enumerator in the BTF. The header of the tracepoint does not export it, as
 * in { TCP_ESTABLISHED, "TCP_ESTABLISHED" }.
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

/* Read { VALUE, "NAME" }, { VALUE, "NAME" } ... */
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
			/* "REC->NAME & (A | B)" is legal, but not "REC->NAME & A | B" */
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
