// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/json_fields.h"
#include "cmd/probe_report.h"
#include "common/cleanup.h"
#include "common/json_text.h"
#include "detect/probe/probe_file.h"
#include "detect/probe/probe_target.h"
#include "examine/probe/probe_reader.h"
#include "rules/target.h"

/* ---- check ---- */

static void add_functions(json_t *list, const struct probe_target *t, const struct probe_place *p)
{
	for (uint32_t i = 0; i < p->found.n_funcs; i++) {
		const struct probe_func *f = &p->found.funcs[i];

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
		return; /* the plan has reported that */
	for (uint32_t i = 0; i < t->n_places; i++) {
		const struct probe_place *p = &t->places[i];

		if (!t->provider)
			add_functions(list, t, p);
		else
			json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:i, s:i}", "file",
							      p->name, "provider", t->provider,
							      "probe", t->symbol, "locations",
							      (int)p->found.n_probes, "arguments",
							      (int)p->found.n_args));
	}
	probe_target__free(t);
}

/* Add both ends of a span. */
static void add_span(json_t *list, const char *target)
{
	struct probe_span_target t;

	if (probe_span_target__parse(target, &t)) {
		json_alloc__note_failure();
		return;
	}
	for (int i = 0; i < 2; i++)
		add_target(list, t.end[i].source, t.end[i].target);
	probe_span_target__free(&t);
}

static bool is_first_on_events(const struct ruleset *rs, size_t i)
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

	if (source != FRBPF_SOURCE_UPROBE && source != FRBPF_SOURCE_USDT &&
	    source != FRBPF_SOURCE_PROBE_SPAN)
		return NULL;
	list = json_array();
	for (size_t i = 0; i < rs->n_rules; i++) {
		if (rs->rules[i].when.source != source || !is_first_on_events(rs, i))
			continue;
		if (source == FRBPF_SOURCE_PROBE_SPAN)
			add_span(list, rs->rules[i].when.target);
		else
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
		printf("; not measured if it continues in another function (%" PRIu64 ")",
		       num(p, "unmeasured_exits"));
	if (num(p, "unknown_jumps"))
		printf("; perhaps not measured either if it jumps to a computed address (%" PRIu64
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

static int compare_probe_names(const void *a, const void *b)
{
	const struct probe_name *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int list_file_probes(const struct probe_file *file, const struct examine_probe *q,
			    struct probe_found *ret, struct err *err)
{
	_cleanup_close_ int fd = probe_file__open(file, err);
	int code = fd < 0 ? fd : probe_reader__ask(fd, file->name, q, PROBE_READ_SECONDS, ret, err);

	if (!code && ret->n_names)
		qsort(ret->names, ret->n_names, sizeof(*ret->names), compare_probe_names);
	return code;
}

struct listing {
	const char *prefix;
	enum frbpf_source source;
	void (*fn)(const char *name, enum frbpf_source source, const char *meaning, void *arg);
	void *arg;
};

static void show_probe_names(const struct listing *l, const char *file,
			     const struct probe_found *found)
{
	for (uint32_t k = 0; k < found->n_names; k++) {
		const struct probe_name *n = &found->names[k];
		_cleanup_free_ char *name = NULL;

		if (k && !strcmp(n->name, n[-1].name))
			continue;
		if (asprintf(&name, "%s:%s:%s", l->prefix, file, n->name) < 0)
			name = NULL;
		else
			l->fn(name, l->source, n->meaning, l->arg);
	}
}

bool probe_report__list(const char *glob,
			void (*fn)(const char *name, enum frbpf_source source, const char *meaning,
				   void *arg),
			void (*left_out)(const char *why, void *arg), void *arg)
{
	struct listing l = { "uprobe", FRBPF_SOURCE_UPROBE, fn, arg };
	struct examine_probe q = { .what = EXAMINE_LIST_FUNCTIONS };
	_cleanup_free_ char *file = NULL;
	struct probe_files files = { 0 };
	const char *path, *names;
	struct err err;

	if (glob && !strncmp(glob, "usdt:", 5)) {
		l.source = FRBPF_SOURCE_USDT;
		l.prefix = "usdt";
		q.what = EXAMINE_LIST_USDT;
	}
	if (!glob || (strncmp(glob, "uprobe:", 7) != 0 && l.source != FRBPF_SOURCE_USDT))
		return false;
	path = strchr(glob, ':') + 1;
	names = strchr(path, ':');
	if (!names || strlen(names + 1) >= sizeof(q.symbol))
		return false;
	strcpy(q.symbol, names + 1);
	file = strndup(path, names - path);
	if (!file || probe_files__find(file, &files, &err))
		left_out(file ? err.msg : "out of memory", arg);
	for (size_t i = 0; i < files.n; i++) {
		struct probe_found found = { 0 };

		if (list_file_probes(&files.v[i], &q, &found, &err) && !files.searched)
			left_out(err.msg, arg);
		show_probe_names(&l, files.searched ? files.v[i].name : file, &found);
		probe_found__free(&found);
	}
	probe_files__free(&files);
	return true;
}
