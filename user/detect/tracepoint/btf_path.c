// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/nearest_word.h"
#include "detect/tracepoint/btf_path.h"
#include "detect/tracepoint/btf_trace.h"
#include "rules/text.h"

#define NAMES_MAX	256 /* names that an error compares to find the nearest one */
#define ANON_DEPTH	8   /* nested anonymous structs */
#define ARRAY_INDEX_MAX 1000000

/* ---- walking a path ---- */

struct walk {
	const struct btf_trace *t;
	const struct btf *btf;
	const char *path;
	uint32_t pos;	  /* in the path */
	struct span part; /* the current part */
	uint32_t max_derefs;
	uint32_t type;	/* the current type */
	bool in_memory; /* the value is at the end of the steps; else it is the argument itself */
	uint64_t bit;	/* offset in bits from the address of the last step */
	uint32_t bits;	/* size of a bit field, otherwise 0 */
	struct btf_value *v;
	struct err *err;
};

/* Read an address at the current position, and go to what it points to. */
static int walk_dereference(struct walk *w, uint32_t target)
{
	struct frbpf_extract *x = &w->v->where;

	if (x->n_steps)
		x->offset[x->n_steps - 1] = w->bit / 8;
	if (x->n_steps == w->max_derefs)
		return err_set(w->err, -EINVAL, "this path follows more than %d pointers",
			       FRBPF_MAX_DEREFS);
	x->n_steps++;
	w->type = target;
	w->in_memory = true;
	w->bit = 0;
	w->bits = 0;
	return 0;
}

/* Find the member @name, also in nested anonymous structs. */
static bool find_member(const struct btf *btf, const struct btf_type *t, const char *name,
			size_t len, int depth, struct walk *ret)
{
	for (uint32_t i = 0; i < btf_vlen(t); i++) {
		const struct btf_member *m = &btf_members(t)[i];
		const char *s = btf__name_by_offset(btf, m->name_off) ?: "";
		const struct btf_type *inner;

		if (strlen(s) == len && len && !memcmp(s, name, len)) {
			ret->bit += btf_member_bit_offset(t, i);
			ret->bits = btf_member_bitfield_size(t, i);
			ret->type = m->type;
			return true;
		}
		inner = *s || depth == ANON_DEPTH ? NULL : btf_type__plain(btf, m->type);
		if (inner && btf_is_composite(inner) &&
		    find_member(btf, inner, name, len, depth + 1, ret)) {
			ret->bit += btf_member_bit_offset(t, i);
			return true;
		}
	}
	return false;
}

static void member_names(const struct btf *btf, const struct btf_type *t, int depth,
			 const char **names, size_t *n)
{
	for (uint32_t i = 0; i < btf_vlen(t) && *n < NAMES_MAX; i++) {
		const struct btf_member *m = &btf_members(t)[i];
		const char *s = btf__name_by_offset(btf, m->name_off) ?: "";
		const struct btf_type *inner =
			*s || depth == ANON_DEPTH ? NULL : btf_type__plain(btf, m->type);

		if (*s)
			names[(*n)++] = s;
		else if (inner && btf_is_composite(inner))
			member_names(btf, inner, depth + 1, names, n);
	}
}

static int unknown_member(struct walk *w, const struct btf_type *t)
{
	const char *names[NAMES_MAX + 1] = { NULL }, *nearest, *s = w->path + w->part.off;
	size_t n = 0;

	member_names(w->btf, t, 0, names, &n);
	nearest = nearest_word(s, w->part.len, names);
	return err_set(w->err, -EINVAL, "%s%s has no member " QUOTED DID_YOU_MEAN,
		       btf_type__kind(t), btf_type__name(w->btf, t), QUOTE(s, w->part.len),
		       SUGGEST(nearest));
}

static int step_to_member(struct walk *w)
{
	const struct btf_type *t = btf_type__plain(w->btf, w->type);
	char text[128];
	int err;

	if (t && btf_is_ptr(t)) {
		err = walk_dereference(w, t->type);
		if (err)
			return err;
		t = btf_type__plain(w->btf, w->type);
	}
	if (!t || !btf_is_composite(t) || !w->in_memory)
		return err_set(w->err, -EINVAL, "%s has no members",
			       btf_type__text(w->btf, w->type, text, sizeof(text)));
	if (!find_member(w->btf, t, w->path + w->part.off, w->part.len, 0, w))
		return unknown_member(w, t);
	return 0;
}

/* Get the index of a cgroup subsystem, such as "memory_cgrp_id": the kernel build decides it. */
static bool find_subsystem(const struct btf *btf, const char *name, size_t len, unsigned long *ret)
{
	int id = btf__find_by_name_kind(btf, "cgroup_subsys_id", BTF_KIND_ENUM);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, id) : NULL;

	for (uint32_t i = 0; t && i < btf_vlen(t); i++) {
		const char *s = btf__name_by_offset(btf, btf_enum(t)[i].name_off);

		if (strlen(s) == len && !memcmp(s, name, len)) {
			*ret = btf_enum(t)[i].val;
			return true;
		}
	}
	return false;
}

/* Read "[3]": the number, and the position after it. */
static bool read_index(const struct walk *w, unsigned long *ret, const char **ret_end)
{
	const char *s = w->path + w->pos + 1, *close = strchr(s, ']');
	char *end;

	if (!close)
		return false;
	*ret_end = close + 1;
	if (find_subsystem(w->btf, s, close - s, ret))
		return true;
	*ret = strtoul(s, &end, 10);
	return end == close && *s >= '0' && *s <= '9' && *ret <= ARRAY_INDEX_MAX;
}

/* Go to an array element: "[3]" after a name. */
static int step_to_element(struct walk *w)
{
	const struct btf_type *t = btf_type__plain(w->btf, w->type);
	const struct btf_array *array;
	const char *end;
	unsigned long i;

	if (!read_index(w, &i, &end))
		return err_set(w->err, -EINVAL, "a number in brackets is expected, such as [0]");
	if (!t || !btf_is_array(t) || !w->in_memory)
		return err_set(w->err, -EINVAL, "this is not an array");
	array = btf_array(t);
	if (array->nelems && i >= array->nelems)
		return err_set(w->err, -EINVAL, "the array has %u elements", array->nelems);
	w->type = array->type;
	w->bit += 8ULL * i * btf__resolve_size(w->btf, array->type);
	w->part.len = end - (w->path + w->part.off);
	w->pos = end - w->path;
	return 0;
}

static int all_args(struct walk *w)
{
	const char *names[FRBPF_TP_ARGS + 1] = { NULL }, *nearest, *s = w->path + w->part.off;
	char all[256] = "";

	for (uint32_t i = 0; i < w->t->n_args; i++) {
		size_t len = strlen(all);

		names[i] = btf_trace__arg_name(w->t, i);
		snprintf(all + len, sizeof(all) - len, " %s", names[i]);
	}
	nearest = nearest_word(s, w->part.len, names);
	return err_set(w->err, -ENOENT, "no argument " QUOTED DID_YOU_MEAN "%s%s",
		       QUOTE(s, w->part.len), SUGGEST(nearest),
		       nearest	      ? ""
		       : w->t->n_args ? ": use one of"
				      : ": the tracepoint has no arguments",
		       nearest ? "" : all);
}

static int step_to_arg(struct walk *w)
{
	int i = btf_trace__arg(w->t, w->path + w->part.off, w->part.len);

	if (i < 0)
		return all_args(w);
	w->v->where.arg = i;
	w->type = w->t->types[i].type;
	return 0;
}

static int walk_follow(struct walk *w)
{
	int err = 0;

	for (bool first = true; !err; first = false) {
		w->part = (struct span){ w->pos, strcspn(w->path + w->pos, ".[") };
		w->pos += w->part.len;
		if (!w->part.len)
			return err_set(w->err, -EINVAL, "a name is missing");
		err = first ? step_to_arg(w) : step_to_member(w);
		while (!err && w->path[w->pos] == '[')
			err = step_to_element(w);
		if (err || !w->path[w->pos])
			return err;
		if (w->path[w->pos] != '.')
			return err_set(w->err, -EINVAL, "'.' is expected after ']'");
		w->pos++;
	}
	return err;
}

/* ---- the value found ---- */

/* Is there a typedef @name between the type @id and its plain type? */
static bool type_is_called(const struct btf *btf, uint32_t id, const char *name)
{
	const struct btf_type *t = btf__type_by_id(btf, id);

	while (t && (btf_is_mod(t) || btf_is_typedef(t))) {
		if (btf_is_typedef(t) && !strcmp(btf_type__name(btf, t), name))
			return true;
		t = btf__type_by_id(btf, t->type);
	}
	return false;
}

static void set_range(struct btf_value *v, uint32_t bits)
{
	if (v->where.is_signed) {
		v->max = bits < 64 ? (1LL << (bits - 1)) - 1 : INT64_MAX;
		v->min = -v->max - 1;
	} else {
		v->max = bits < 63 ? (1LL << bits) - 1 : INT64_MAX;
		v->min = 0;
	}
}

/* Choose the bytes to read, and which of their bits are the value, like CO-RE. */
static int place_number(struct walk *w, uint32_t size)
{
	struct frbpf_extract *x = &w->v->where;
	uint32_t bits = w->bits ? w->bits : 8 * size;
	uint64_t byte = w->bit / 8;

	if (w->bits) {
		byte = byte / size * size;
		while (w->bit + bits > 8 * (byte + size)) {
			size *= 2;
			byte = byte / size * size;
		}
	}
	if (size > 8 || !size || size & (size - 1))
		return err_set(w->err, -EINVAL, "a number of %u bytes cannot be compared", size);
	x->kind = FRBPF_EXTRACT_NUMBER;
	x->size = size;
	x->shift_right = 64 - bits;
	x->shift_left = 64 - bits - (w->bit - 8 * byte);
	if (x->n_steps)
		x->offset[x->n_steps - 1] = byte;
	w->v->type = EXPR_NUMBER;
	set_range(w->v, bits);
	return 0;
}

/* Numbers in network byte order. */
static void take_network_order(struct walk *w)
{
	struct btf_value *v = w->v;
	char last[64];

	if (type_is_called(w->btf, w->type, "__be32")) {
		snprintf(last, sizeof(last), "%.*s", (int)w->part.len, w->path + w->part.off);
		if (strstr(last, "addr") || strstr(last, "_ip") || !strcmp(last, "ip")) {
			v->where.kind = FRBPF_EXTRACT_IPV4;
			v->type = EXPR_IPV4;
			return;
		}
	} else if (!type_is_called(w->btf, w->type, "__be16") &&
		   !type_is_called(w->btf, w->type, "__be64")) {
		return;
	}
	v->where.kind = FRBPF_EXTRACT_BE;
}

static int take_enum_names(struct walk *w, const struct btf_type *t)
{
	uint32_t n = btf_vlen(t);
	struct constant *s = calloc(n + 1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		if (btf_is_enum(t)) {
			s[i].name = btf__name_by_offset(w->btf, btf_enum(t)[i].name_off);
			s[i].value = btf_enum(t)[i].val;
		} else {
			s[i].name = btf__name_by_offset(w->btf, btf_enum64(t)[i].name_off);
			s[i].value = btf_enum64_value(&btf_enum64(t)[i]);
		}
		if (s[i].value < 0)
			w->v->where.is_signed = true;
	}
	w->v->symbols = s;
	return 0;
}

static int take_string_type(struct walk *w)
{
	struct frbpf_extract *x = &w->v->where;

	x->kind = FRBPF_EXTRACT_STRING;
	if (x->n_steps)
		x->offset[x->n_steps - 1] = w->bit / 8;
	w->v->type = EXPR_STRING;
	return 0;
}

static int take_ipv6(struct walk *w)
{
	struct frbpf_extract *x = &w->v->where;

	x->kind = FRBPF_EXTRACT_IPV6;
	if (x->n_steps)
		x->offset[x->n_steps - 1] = w->bit / 8;
	w->v->type = EXPR_IPV6;
	return 0;
}

static bool is_char(const struct btf_type *t, const struct btf *btf)
{
	return t && btf_is_int(t) && t->size == 1 && !strcmp(btf_type__name(btf, t), "char");
}

static int take_pointer(struct walk *w, const struct btf_type *t)
{
	const struct btf_type *to = btf_type__plain(w->btf, t->type);
	struct frbpf_extract *x = &w->v->where;
	char text[128];

	if (is_char(to, w->btf) && w->in_memory) { /* read the pointer, then the string there */
		x->offset[x->n_steps - 1] = w->bit / 8;
		x->n_steps++;
		w->bit = 0;
	}
	if (is_char(to, w->btf))
		return take_string_type(w);
	if (to && btf_is_func_proto(to)) /* pointers to functions may be numbers, as SIG_DFL is */
		return place_number(w, sizeof(__u64));
	btf_type__text(w->btf, w->type, text, sizeof(text));
	if (to && btf_is_composite(to))
		return err_set(
			w->err, -EINVAL,
			"this is a pointer (%s): compare a member of what it points to, such "
			"as %.*s.%s",
			text, (int)(w->part.off + w->part.len), w->path,
			strcmp(btf_type__name(w->btf, to), "task_struct") ? "NAME" : "pid");
	return err_set(w->err, -EINVAL, "this is a pointer (%s): it cannot be compared", text);
}

/* Take the value at the end of the path. */
static int take_value_type(struct walk *w)
{
	const struct btf_type *t = btf_type__plain(w->btf, w->type);
	char text[128];
	int err = 0;

	if (t && btf_is_ptr(t))
		return take_pointer(w, t);
	if (t && btf_is_array(t) && is_char(btf_type__plain(w->btf, btf_array(t)->type), w->btf) &&
	    w->in_memory)
		return take_string_type(w);
	if (t && btf_is_struct(t) && w->in_memory && !strcmp(btf_type__name(w->btf, t), "in6_addr"))
		return take_ipv6(w);
	if (!t || !(btf_is_int(t) || btf_is_any_enum(t)))
		return err_set(w->err, -EINVAL, "this is a whole %s: compare a member of it",
			       btf_type__text(w->btf, w->type, text, sizeof(text)));
	if (btf_is_int(t))
		w->v->where.is_signed = btf_int_encoding(t) & BTF_INT_SIGNED ? 1 : 0;
	else
		err = take_enum_names(w, t);
	err = err ?: place_number(w, t->size);
	if (!err)
		take_network_order(w);
	return err;
}

/* Take a key: any value that is equal at both ends of a span, without conversion. */
static int take_key_type(struct walk *w)
{
	const struct btf_type *t = btf_type__plain(w->btf, w->type);
	char text[128];
	int err;

	if (!t || !(btf_is_int(t) || btf_is_any_enum(t) || btf_is_ptr(t)))
		return err_set(w->err, -EINVAL, "a key must be a number or a pointer, not a %s",
			       btf_type__text(w->btf, w->type, text, sizeof(text)));
	err = place_number(w, btf_is_ptr(t) ? sizeof(__u64) : t->size);
	w->v->where.is_signed = !w->v->where.shift_right; /* a 64-bit key keeps all of its bits */
	return err;
}

int btf_trace__value(const struct btf_trace *t, const char *path, enum btf_path_use use,
		     struct btf_value *ret, struct span *ret_bad, struct err *err)
{
	struct btf_value v = { 0 };
	struct walk w = { .t = t, .btf = t->btf, .path = path, .v = &v, .err = err };
	int code;

	w.max_derefs = use == BTF_PATH_OWN ? FRBPF_MAX_STEPS - 1 : FRBPF_MAX_DEREFS;
	code = walk_follow(&w) ?: use == BTF_PATH_KEY ? take_key_type(&w) : take_value_type(&w);

	if (code) {
		*ret_bad = w.part;
		btf_value__free(&v);
		return code;
	}
	*ret = v;
	return 0;
}

void btf_value__free(struct btf_value *v)
{
	free(v->symbols);
	v->symbols = NULL;
}
