// SPDX-License-Identifier: GPL-2.0-only
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/json_fields.h"
#include "cmd/probe_report.h"
#include "common/cleanup.h"
#include "detect/probe/probe_file.h"
#include "detect/probe/probe_target.h"

/* ---- check ---- */

static void add_functions(json_t *list, const struct probe_target *t, const struct probe_place *p)
{
	for (uint32_t i = 0; i < p->n_funcs; i++) {
		const struct probe_func *f = &p->funcs[i];

		json_array_append_new(
			list, json_pack("{s:s, s:s, s:I, s:I, s:s*, s:i, s:i, s:i}", "file",
					p->name, "symbol", f->name, "symbol_offset",
					(json_int_t)t->offset, "file_offset", (json_int_t)f->offset,
					"end", t->latency ? "return instructions" : NULL, "exits",
					(int)f->n_exits, "unmeasured_exits", (int)f->jumps,
					"unknown_jumps", (int)f->indirect));
	}
}

static void add_target(json_t *list, enum frbpf_source source, const char *target)
{
	struct probe_target *t;
	struct err err;

	if (probe_target__find(source, target, &t, &err))
		return; /* said when the plan was made */
	for (uint32_t i = 0; i < t->n_places; i++) {
		const struct probe_place *p = &t->places[i];

		if (!t->provider)
			add_functions(list, t, p);
		else
			json_array_append_new(list,
					      json_pack("{s:s, s:s, s:s, s:i, s:i}", "file",
							p->name, "provider", t->provider, "probe",
							t->symbol, "locations", (int)p->n_probes,
							"arguments", (int)p->n_args));
	}
	probe_target__free(t);
}

static bool is_first(const struct ruleset *rs, size_t i)
{
	for (size_t k = 0; k < i; k++) {
		if (when__same_events(&rs->rules[k].when, &rs->rules[i].when))
			return false;
	}
	return true;
}

json_t *probe_report__make(const struct ruleset *rs, enum frbpf_source source)
{
	json_t *list;

	if (source != FRBPF_SOURCE_UPROBE && source != FRBPF_SOURCE_USDT)
		return NULL;
	list = json_array();
	for (size_t i = 0; i < rs->n_rules; i++) {
		if (rs->rules[i].when.source != source || !is_first(rs, i))
			continue;
		add_target(list, source, rs->rules[i].when.target);
	}
	return list;
}

static void print_function(const json_t *p)
{
	printf("  attaches:   %s: %s", str(p, "file"), str(p, "symbol"));
	if (num(p, "symbol_offset"))
		printf("+0x%" PRIx64, num(p, "symbol_offset"));
	printf(", 0x%" PRIx64 " of the file", num(p, "file_offset"));
	if (str(p, "end")[0])
		printf("; to its end by %s", str(p, "end"));
	if (num(p, "exits"))
		printf(" (%" PRIu64 ")", num(p, "exits"));
	if (num(p, "unmeasured_exits"))
		printf("; not measured where it goes on in another function (%" PRIu64 ")",
		       num(p, "unmeasured_exits"));
	if (num(p, "unknown_jumps"))
		printf("; perhaps neither where it jumps to an address that it computes (%" PRIu64
		       ")",
		       num(p, "unknown_jumps"));
	putchar('\n');
}

void probe_report__print(const json_t *places)
{
	const json_t *p;
	size_t i;

	json_array_foreach (places, i, p) {
		if (!str(p, "provider")[0])
			print_function(p);
		else
			printf("  attaches:   %s: %s:%s, in %" PRIu64 " place%s, %" PRIu64
			       " argument%s\n",
			       str(p, "file"), str(p, "provider"), str(p, "probe"),
			       num(p, "locations"), num(p, "locations") == 1 ? "" : "s",
			       num(p, "arguments"), num(p, "arguments") == 1 ? "" : "s");
	}
}

/* ---- events ---- */

struct listing {
	const char *path, *glob; /* of the functions or probes */
	enum frbpf_source source;
	char **v; /* the names that match, with what is known of them behind a NUL; owned */
	size_t n;
};

static int keep(struct listing *l, const char *name, const char *meaning)
{
	char *text;

	if (fnmatch(l->glob, name, FNM_NOESCAPE) != 0)
		return 0;
	if (!(l->n & (l->n - 1))) {
		char **v = realloc(l->v, (l->n ? 2 * l->n : 1) * sizeof(*v));

		if (!v)
			return -ENOMEM;
		l->v = v;
	}
	text = calloc(1, strlen(name) + strlen(meaning) + 2);
	if (!text)
		return -ENOMEM;
	strcpy(text, name);
	strcpy(text + strlen(name) + 1, meaning);
	l->v[l->n++] = text;
	return 0;
}

static int keep_function(const struct elf_function *s, void *arg)
{
	char size[32] = "";

	if (s->elsewhere || s->chosen || !*s->name)
		return 0;
	if (s->size)
		snprintf(size, sizeof(size), "%" PRIu64 " bytes", s->size);
	return s->size ? keep(arg, s->name, size) : 0;
}

static int keep_usdt(const struct elf_usdt *p, void *arg)
{
	_cleanup_free_ char *name = NULL;

	if (asprintf(&name, "%s:%s", p->provider, p->name) < 0) {
		name = NULL;
		return -ENOMEM;
	}
	return keep(arg, name, p->args);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list_file(struct listing *l, const struct probe_file *file, struct err *err)
{
	struct elf_file *f;
	int r = elf_file__open(file->open, file->name, &file->st, &f, err);

	if (r)
		return r;
	r = l->source == FRBPF_SOURCE_USDT ? elf_file__each_usdt(f, keep_usdt, l)
					   : elf_file__each_function(f, keep_function, l);
	elf_file__free(f);
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), by_name);
	return r ? err_set(err, r, "%s: %s", file->name, strerror(-r)) : 0;
}

static void forget(struct listing *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
	l->v = NULL;
	l->n = 0;
}

bool probe_report__list(const char *glob,
			void (*fn)(const char *name, enum frbpf_source source, const char *meaning,
				   void *arg),
			void (*left_out)(const char *why, void *arg), void *arg)
{
	struct listing l = { .source = FRBPF_SOURCE_UPROBE };
	const char *source = "uprobe", *path, *names;
	_cleanup_free_ char *file = NULL;
	struct probe_files files = { 0 };
	struct err err;

	if (glob && !strncmp(glob, "usdt:", 5)) {
		l.source = FRBPF_SOURCE_USDT;
		source = "usdt";
	}
	if (!glob || (strncmp(glob, "uprobe:", 7) != 0 && l.source != FRBPF_SOURCE_USDT))
		return false;
	path = strchr(glob, ':') + 1;
	names = strchr(path, ':');
	if (!names)
		return false;
	l.glob = names + 1;
	file = strndup(path, names - path);
	if (!file || probe_files__find(file, &files, &err))
		left_out(file ? err.msg : "out of memory", arg);
	for (size_t i = 0; i < files.n; i++) {
		if (list_file(&l, &files.v[i], &err) && !files.searched)
			left_out(err.msg, arg);
		for (size_t k = 0; k < l.n; k++) {
			_cleanup_free_ char *name = NULL;

			if (k && !strcmp(l.v[k], l.v[k - 1]))
				continue;
			if (asprintf(&name, "%s:%s:%s", source,
				     files.searched ? files.v[i].name : file, l.v[k]) < 0)
				name = NULL;
			else
				fn(name, l.source, l.v[k] + strlen(l.v[k]) + 1, arg);
		}
		forget(&l);
	}
	probe_files__free(&files);
	return true;
}
