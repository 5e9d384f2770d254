// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/btf.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "detect/tracepoint/btf_path.h"
#include "rules/text.h"

#define BTF_DIR		"/sys/kernel/btf"
#define TRACE		"btf_trace_"
#define NAMES_MAX	256 /* that an error looks at for the nearest one */
#define ANON_DEPTH	8   /* anonymous structs within each other */
#define ARRAY_INDEX_MAX 1000000

struct btf_trace {
	struct btf *base;      /* vmlinux */
	struct btf *module;    /* or NULL */
	const struct btf *btf; /* that of these which has it */
	const struct btf_param
		*args; /* behind the first one, which is no argument of the tracepoint */
	const struct btf_param *types; /* the same, of the prototype that the kernel goes by */
	uint32_t n_args;
	char no_names[FRBPF_TP_ARGS][16]; /* "arg0" ... */
};

/* Path of the type behind modifiers and typedefs. */
static const struct btf_type *plain(const struct btf *btf, uint32_t id)
{
	const struct btf_type *t = btf__type_by_id(btf, id);

	while (t && (btf_is_mod(t) || btf_is_typedef(t)))
		t = btf__type_by_id(btf, t->type);
	return t;
}

static const char *name_of(const struct btf *btf, const struct btf_type *t)
{
	return btf__name_by_offset(btf, t->name_off) ?: "";
}

/* ---- the tracepoint ---- */

static const struct btf_type *func_proto(const struct btf *btf, const char *prefix,
					 const char *name)
{
	const struct btf_type *t;
	char full[256];
	int id;

	snprintf(full, sizeof(full), "%s%s", prefix, name);
	id = btf__find_by_name_kind(btf, full, BTF_KIND_FUNC);
	t = id > 0 ? btf__type_by_id(btf, id) : NULL;
	return t ? btf__type_by_id(btf, t->type) : NULL;
}

/* The prototype that the verifier goes by: of the function behind the typedef. It has no names. */
static const struct btf_type *trace_proto(const struct btf *btf, const char *name)
{
	const struct btf_type *t;
	char full[256];
	int id;

	snprintf(full, sizeof(full), TRACE "%s", name);
	id = btf__find_by_name_kind(btf, full, BTF_KIND_TYPEDEF);
	if (id < 0)
		return NULL;
	t = plain(btf, id);
	t = t && btf_is_ptr(t) ? btf__type_by_id(btf, t->type) : NULL;
	return t && btf_is_func_proto(t) && btf_vlen(t) ? t : NULL;
}

/* A function of the same prototype, with names. That of a class of events bears the class's name,
 * those that call the probes are made for each event. */
static const struct btf_type *named_proto(const struct btf *btf, const char *name, uint32_t n)
{
	static const char *const prefixes[] = { "__traceiter_", "__probestub_", "__bpf_trace_" };

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		const struct btf_type *t = func_proto(btf, prefixes[i], name);

		if (t && btf_vlen(t) == n && btf_params(t)[n - 1].name_off)
			return t;
	}
	return NULL;
}

static bool take_proto(struct btf_trace *t, const struct btf *btf, const char *name)
{
	const struct btf_type *proto = trace_proto(btf, name), *named;

	if (!proto || btf_vlen(proto) - 1 > FRBPF_TP_ARGS)
		return false;
	named = named_proto(btf, name, btf_vlen(proto));
	t->btf = btf;
	t->n_args = btf_vlen(proto) - 1;
	t->types = btf_params(proto) + 1;
	t->args = named ? btf_params(named) + 1 : NULL;
	for (uint32_t i = 0; i < t->n_args; i++)
		snprintf(t->no_names[i], sizeof(t->no_names[i]), "arg%u", i);
	return true;
}

/* Modules, whose types go on behind those of the kernel. */
static bool search_modules(struct btf_trace *t, const char *name)
{
	DIR *dir = opendir(BTF_DIR);
	struct dirent *e;
	bool found = false;

	while (dir && !found && (e = readdir(dir))) {
		char path[512];

		if (e->d_name[0] == '.' || !strcmp(e->d_name, "vmlinux"))
			continue;
		snprintf(path, sizeof(path), BTF_DIR "/%s", e->d_name);
		t->module = btf__parse_split(path, t->base);
		found = t->module && take_proto(t, t->module, name);
		if (found)
			break;
		btf__free(t->module);
		t->module = NULL;
	}
	if (dir)
		closedir(dir);
	return found;
}

int btf_trace__find(const char *name, struct btf_trace **ret)
{
	struct btf_trace *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->base = btf__load_vmlinux_btf();
	if (!t->base) {
		free(t);
		return -EOPNOTSUPP;
	}
	if (!take_proto(t, t->base, name) && !search_modules(t, name)) {
		btf_trace__free(t);
		return -ENOENT;
	}
	*ret = t;
	return 0;
}

void btf_trace__free(struct btf_trace *t)
{
	if (!t)
		return;
	btf__free(t->module);
	btf__free(t->base);
	free(t);
}

uint32_t btf_trace__n_args(const struct btf_trace *t)
{
	return t->n_args;
}

const char *btf_trace__arg_name(const struct btf_trace *t, uint32_t i)
{
	const char *name = t->args ? btf__name_by_offset(t->btf, t->args[i].name_off) : NULL;

	return name && *name ? name : t->no_names[i];
}

int btf_trace__arg(const struct btf_trace *t, const char *name, size_t len)
{
	for (uint32_t i = 0; i < t->n_args; i++) {
		const char *arg = btf_trace__arg_name(t, i);

		/* a suffix of newer kernels says that it may be NULL */
		if (!strncmp(arg, name, len) && (!arg[len] || !strcmp(arg + len, "__nullable")))
			return i;
	}
	return -ENOENT;
}

/* ---- types in words ---- */

static const char *kind_word(const struct btf_type *t)
{
	return btf_is_struct(t)	    ? "struct "
	       : btf_is_union(t)    ? "union "
	       : btf_is_any_enum(t) ? "enum "
				    : "";
}

static const char *type_text(const struct btf *btf, uint32_t id, char *buf, size_t size)
{
	const struct btf_type *t = btf__type_by_id(btf, id);
	unsigned int stars = 0;

	while (t && (btf_is_mod(t) || btf_is_ptr(t))) {
		stars += btf_is_ptr(t);
		t = btf__type_by_id(btf, t->type);
	}
	if (t && btf_is_array(t)) {
		type_text(btf, btf_array(t)->type, buf, size);
		snprintf(buf + strlen(buf), size - strlen(buf), "[%u]", btf_array(t)->nelems);
	} else {
		snprintf(buf, size, "%s%s", t ? kind_word(t) : "",
			 !t || btf_is_void(t) ? "void" : name_of(btf, t));
	}
	if (stars && strlen(buf) + stars + 2 <= size) {
		strcat(buf, " ");
		while (stars--)
			strcat(buf, "*");
	}
	return buf;
}

const char *btf_trace__arg_type(const struct btf_trace *t, uint32_t i, char *buf, size_t size)
{
	return type_text(t->btf, t->types[i].type, buf, size);
}

bool btf_trace__arg_points_to(const struct btf_trace *t, uint32_t i, const char *type)
{
	const struct btf_type *p = plain(t->btf, t->types[i].type);

	p = p && btf_is_ptr(p) ? plain(t->btf, p->type) : NULL;
	return p && btf_is_struct(p) && !strcmp(name_of(t->btf, p), type);
}

/* ---- walking a path ---- */

struct walk {
	const struct btf_trace *t;
	const struct btf *btf;
	const char *path;
	uint32_t pos;	  /* in the path */
	struct span part; /* the part at hand */
	uint32_t max_derefs;
	uint32_t type;	/* where we are */
	bool in_memory; /* it lies at the end of the steps; else it is the argument itself */
	uint64_t bit;	/* from where the last step's address points */
	uint32_t bits;	/* of a bit field, else 0 */
	struct btf_value *v;
	struct err *err;
};

/* Read an address where we are, and stand at what it points to. */
static int dereference(struct walk *w, uint32_t target)
{
	struct frbpf_extract *x = &w->v->where;

	if (x->n_steps)
		x->offset[x->n_steps - 1] = w->bit / 8;
	if (x->n_steps == w->max_derefs)
		return err_set(w->err, -EINVAL, "more than %d pointers are followed to get there",
			       FRBPF_MAX_DEREFS);
	x->n_steps++;
	w->type = target;
	w->in_memory = true;
	w->bit = 0;
	w->bits = 0;
	return 0;
}

/* The member called so, also of anonymous structs within. */
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
		inner = *s || depth == ANON_DEPTH ? NULL : plain(btf, m->type);
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
			*s || depth == ANON_DEPTH ? NULL : plain(btf, m->type);

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
	return err_set(w->err, -EINVAL, "%s%s has no member " QUOTED DID_YOU_MEAN, kind_word(t),
		       name_of(w->btf, t), QUOTE(s, w->part.len), SUGGEST(nearest));
}

static int step_to_member(struct walk *w)
{
	const struct btf_type *t = plain(w->btf, w->type);
	char text[128];
	int err;

	if (t && btf_is_ptr(t)) {
		err = dereference(w, t->type);
		if (err)
			return err;
		t = plain(w->btf, w->type);
	}
	if (!t || !btf_is_composite(t) || !w->in_memory)
		return err_set(w->err, -EINVAL, "%s has no members",
			       type_text(w->btf, w->type, text, sizeof(text)));
	if (!find_member(w->btf, t, w->path + w->part.off, w->part.len, 0, w))
		return unknown_member(w, t);
	return 0;
}

/* "memory_cgrp_id": which of the kernel's cgroup subsystems has which index, its build decides. */
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

/* "[3]": the number, and what is behind it. */
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

/* "[3]" behind a name. */
static int step_to_element(struct walk *w)
{
	const struct btf_type *t = plain(w->btf, w->type);
	const struct btf_array *array;
	const char *end;
	unsigned long i;

	if (!read_index(w, &i, &end))
		return err_set(w->err, -EINVAL, "a number in brackets is expected, such as [0]");
	if (!t || !btf_is_array(t) || !w->in_memory)
		return err_set(w->err, -EINVAL, "this is no array");
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
		       : w->t->n_args ? ": there are"
				      : ": it has none",
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

static int follow(struct walk *w)
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
			return err_set(w->err, -EINVAL, "'.' is expected behind ']'");
		w->pos++;
	}
	return err;
}

/* ---- what is found ---- */

/* A typedef of this name on the way from the type to what it is. */
static bool is_called(const struct btf *btf, uint32_t id, const char *name)
{
	const struct btf_type *t = btf__type_by_id(btf, id);

	while (t && (btf_is_mod(t) || btf_is_typedef(t))) {
		if (btf_is_typedef(t) && !strcmp(name_of(btf, t), name))
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

/* Which bytes to read, and which of their bits: as CO-RE does. */
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

/* Numbers of the network, first byte highest. */
static void take_network_order(struct walk *w)
{
	struct btf_value *v = w->v;
	char last[64];

	if (is_called(w->btf, w->type, "__be32")) {
		snprintf(last, sizeof(last), "%.*s", (int)w->part.len, w->path + w->part.off);
		if (strstr(last, "addr") || strstr(last, "_ip") || !strcmp(last, "ip")) {
			v->where.kind = FRBPF_EXTRACT_IPV4;
			v->type = EXPR_IPV4;
			return;
		}
	} else if (!is_called(w->btf, w->type, "__be16") && !is_called(w->btf, w->type, "__be64")) {
		return;
	}
	v->where.kind = FRBPF_EXTRACT_BE;
}

static int take_enum_names(struct walk *w, const struct btf_type *t)
{
	uint32_t n = btf_vlen(t);
	struct symbol *s = calloc(n + 1, sizeof(*s));

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

static int take_string(struct walk *w)
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
	return t && btf_is_int(t) && t->size == 1 && !strcmp(name_of(btf, t), "char");
}

static int take_pointer(struct walk *w, const struct btf_type *t)
{
	const struct btf_type *to = plain(w->btf, t->type);
	struct frbpf_extract *x = &w->v->where;
	char text[128];

	if (is_char(to, w->btf) && w->in_memory) { /* what it points to */
		x->offset[x->n_steps - 1] = w->bit / 8;
		x->n_steps++;
		w->bit = 0;
	}
	if (is_char(to, w->btf))
		return take_string(w);
	if (to && btf_is_func_proto(to)) /* SIG_DFL is a number, too */
		return place_number(w, sizeof(__u64));
	type_text(w->btf, w->type, text, sizeof(text));
	if (to && btf_is_composite(to))
		return err_set(
			w->err, -EINVAL,
			"this is a pointer (%s): compare a member of what it points to, such "
			"as %.*s.%s",
			text, (int)(w->part.off + w->part.len), w->path,
			strcmp(name_of(w->btf, to), "task_struct") ? "NAME" : "pid");
	return err_set(w->err, -EINVAL, "this is a pointer (%s): it cannot be compared", text);
}

/* What stands where the path ends. */
static int take_value(struct walk *w)
{
	const struct btf_type *t = plain(w->btf, w->type);
	char text[128];
	int err = 0;

	if (t && btf_is_ptr(t))
		return take_pointer(w, t);
	if (t && btf_is_array(t) && is_char(plain(w->btf, btf_array(t)->type), w->btf) &&
	    w->in_memory)
		return take_string(w);
	if (t && btf_is_struct(t) && w->in_memory && !strcmp(name_of(w->btf, t), "in6_addr"))
		return take_ipv6(w);
	if (!t || !(btf_is_int(t) || btf_is_any_enum(t)))
		return err_set(w->err, -EINVAL, "this is a whole %s: compare a member of it",
			       type_text(w->btf, w->type, text, sizeof(text)));
	if (btf_is_int(t))
		w->v->where.is_signed = btf_int_encoding(t) & BTF_INT_SIGNED ? 1 : 0;
	else
		err = take_enum_names(w, t);
	err = err ?: place_number(w, t->size);
	if (!err)
		take_network_order(w);
	return err;
}

/* Whatever is the same at both ends; how it is compared does not matter. */
static int take_key(struct walk *w)
{
	const struct btf_type *t = plain(w->btf, w->type);
	char text[128];
	int err;

	if (!t || !(btf_is_int(t) || btf_is_any_enum(t) || btf_is_ptr(t)))
		return err_set(w->err, -EINVAL, "a key is a number or a pointer, and not a %s",
			       type_text(w->btf, w->type, text, sizeof(text)));
	err = place_number(w, btf_is_ptr(t) ? sizeof(__u64) : t->size);
	w->v->where.is_signed = !w->v->where.shift_right; /* all of its bits */
	return err;
}

int btf_trace__value(const struct btf_trace *t, const char *path, enum btf_path_use use,
		     struct btf_value *ret, struct span *ret_bad, struct err *err)
{
	struct btf_value v = { 0 };
	struct walk w = { .t = t, .btf = t->btf, .path = path, .v = &v, .err = err };
	int code;

	w.max_derefs = use == BTF_PATH_OWN ? FRBPF_MAX_STEPS - 1 : FRBPF_MAX_DEREFS;
	code = follow(&w) ?: use == BTF_PATH_KEY ? take_key(&w) : take_value(&w);

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

/* ---- all of them ---- */

int btf_trace__list(char ***ret)
{
	struct btf *btf = btf__load_vmlinux_btf();
	size_t n = 0, cap = 256;
	char **v = btf ? malloc(cap * sizeof(*v)) : NULL;
	int err = !btf ? -EOPNOTSUPP : -ENOMEM;
	bool failed = !v;

	for (uint32_t id = 1; !failed && id < btf__type_cnt(btf); id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);
		const char *name = name_of(btf, t);

		if (!btf_is_typedef(t) || strncmp(name, TRACE, strlen(TRACE)) != 0)
			continue;
		if (n + 1 == cap) {
			char **more = realloc(v, 2 * cap * sizeof(*v));

			failed = !more;
			v = more ?: v;
			cap *= failed ? 1 : 2;
		}
		if (!failed && (v[n] = strdup(name + strlen(TRACE))))
			n++;
		else
			failed = true;
	}
	btf__free(btf);
	if (!failed) {
		v[n] = NULL;
		*ret = v;
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		free(v[i]);
	free(v);
	return err;
}
