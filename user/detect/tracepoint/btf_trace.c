// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "detect/tracepoint/btf_trace.h"

#define BTF_DIR "/sys/kernel/btf"
#define TRACE	"btf_trace_"

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

/*
 * Find the prototype that the verifier uses, in the typedef of the tracepoint. Its arguments have
 * no names.
 */
static const struct btf_type *trace_proto(const struct btf *btf, const char *name)
{
	const struct btf_type *t;
	char full[256];
	int id;

	snprintf(full, sizeof(full), TRACE "%s", name);
	id = btf__find_by_name_kind(btf, full, BTF_KIND_TYPEDEF);
	if (id < 0)
		return NULL;
	t = btf_type__plain(btf, id);
	t = t && btf_is_ptr(t) ? btf__type_by_id(btf, t->type) : NULL;
	return t && btf_is_func_proto(t) && btf_vlen(t) ? t : NULL;
}

/*
 * Find a function with the same prototype that names its arguments. There is one with each of the
 * first two prefixes for each event. With the last prefix there is one for each class of events.
 */
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

/* Search the BTF of modules, which is split: its type ids continue after those of the kernel. */
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

/* Find out why the BTF could not be loaded: libbpf does not report that. */
static int no_btf(void)
{
	struct btf *btf = btf__parse(BTF_DIR "/vmlinux", NULL);
	int err = btf ? ENOMEM : errno;

	btf__free(btf);
	return err == ENOMEM ? -ENOMEM : -EOPNOTSUPP;
}

int btf_trace__find(const char *name, struct btf_trace **ret)
{
	struct btf_trace *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->base = btf__load_vmlinux_btf();
	if (!t->base) {
		free(t);
		return no_btf();
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

		/* newer kernels add a suffix if the argument may be NULL */
		if (!strncmp(arg, name, len) && (!arg[len] || !strcmp(arg + len, "__nullable")))
			return i;
	}
	return -ENOENT;
}

const char *btf_trace__arg_type(const struct btf_trace *t, uint32_t i, char *buf, size_t size)
{
	return btf_type__text(t->btf, t->types[i].type, buf, size);
}

bool btf_trace__arg_points_to(const struct btf_trace *t, uint32_t i, const char *type)
{
	const struct btf_type *p = btf_type__plain(t->btf, t->types[i].type);

	p = p && btf_is_ptr(p) ? btf_type__plain(t->btf, p->type) : NULL;
	return p && btf_is_struct(p) && !strcmp(btf_type__name(t->btf, p), type);
}

int btf_trace__list(char ***ret)
{
	struct btf *btf = btf__load_vmlinux_btf();
	size_t n = 0, cap = 256;
	char **v = btf ? malloc(cap * sizeof(*v)) : NULL;
	int err = !btf ? -EOPNOTSUPP : -ENOMEM;
	bool failed = !v;

	for (uint32_t id = 1; !failed && id < btf__type_cnt(btf); id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);
		const char *name = btf_type__name(btf, t);

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

const struct btf_type *btf_type__plain(const struct btf *btf, uint32_t id)
{
	const struct btf_type *t = btf__type_by_id(btf, id);

	while (t && (btf_is_mod(t) || btf_is_typedef(t)))
		t = btf__type_by_id(btf, t->type);
	return t;
}

const char *btf_type__name(const struct btf *btf, const struct btf_type *t)
{
	return btf__name_by_offset(btf, t->name_off) ?: "";
}

const char *btf_type__kind(const struct btf_type *t)
{
	return btf_is_struct(t)	    ? "struct "
	       : btf_is_union(t)    ? "union "
	       : btf_is_any_enum(t) ? "enum "
				    : "";
}

const char *btf_type__text(const struct btf *btf, uint32_t id, char *buf, size_t size)
{
	const struct btf_type *t = btf__type_by_id(btf, id);
	unsigned int stars = 0;

	while (t && (btf_is_mod(t) || btf_is_ptr(t))) {
		stars += btf_is_ptr(t);
		t = btf__type_by_id(btf, t->type);
	}
	if (t && btf_is_array(t)) {
		btf_type__text(btf, btf_array(t)->type, buf, size);
		snprintf(buf + strlen(buf), size - strlen(buf), "[%u]", btf_array(t)->nelems);
	} else {
		snprintf(buf, size, "%s%s", t ? btf_type__kind(t) : "",
			 !t || btf_is_void(t) ? "void" : btf_type__name(btf, t));
	}
	if (stars && strlen(buf) + stars + 2 <= size) {
		strcat(buf, " ");
		while (stars--)
			strcat(buf, "*");
	}
	return buf;
}
