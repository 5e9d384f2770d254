// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "common/rights.h"
#include "sideband/kernel_images.h"

#define PROGRAM_PREFIX "bpf_prog_" /* BPF programs, which bpf_info.h reads by id */

static const struct {
	const char *module; /* as in kallsyms */
	uint16_t type;
} sources[] = {
	{ "[bpf]", PERF_RECORD_KSYMBOL_TYPE_BPF },
	{ "[__builtin__ftrace]", PERF_RECORD_KSYMBOL_TYPE_OOL },
	{ "[__builtin__kprobes]", PERF_RECORD_KSYMBOL_TYPE_OOL },
};

/* Bounds of the kernel's text. */
struct text_bounds {
	uint64_t text, stext, etext;
};

struct images {
	struct image {
		uint64_t addr;
		uint16_t type;
		char *name; /* owned; NULL: a BPF program, which only limits the one before it */
	} * v;		    /* owned */
	size_t n, cap;
};

static int images__add(struct images *l, uint64_t addr, uint16_t type, const char *name)
{
	if (!ARRAY_HAS_ROOM(l->v, l->n, l->cap, 64))
		return -ENOMEM;
	l->v[l->n] = (struct image){ .addr = addr, .type = type };
	if (strncmp(name, PROGRAM_PREFIX, strlen(PROGRAM_PREFIX)) != 0) {
		l->v[l->n].name = strdup(name);
		if (!l->v[l->n].name)
			return -ENOMEM;
	}
	l->n++;
	return 0;
}

static void images__free(struct images *l)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		free(l->v[i].name);
	free(l->v);
}

/* Note the symbol if it is a bound of the text. @line: "address type name\n" */
static void note_bound_symbol(struct text_bounds *b, const char *line)
{
	const struct {
		const char *name;
		uint64_t *value;
	} wanted[] = { { "_text\n", &b->text },
		       { "_stext\n", &b->stext },
		       { "_etext\n", &b->etext } };
	const char *name = strchr(line, ' ');

	if (!name || !name[1] || name[2] != ' ' || name[3] != '_')
		return;
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (!strcmp(name + 3, wanted[i].name))
			*wanted[i].value = strtoull(line, NULL, 16);
}

static int add_kernel_text(const struct text_bounds *b, struct kernel_maps *text)
{
	struct kernel_map map = { .name = (char *)(b->text ? "[kernel.kallsyms]_text"
							   : "[kernel.kallsyms]_stext") };

	map.start = map.pgoff = b->text ? b->text : b->stext;
	if (!map.start || b->etext <= map.start)
		return 0;
	map.len = b->etext - map.start;
	return kernel_maps__add(text, &map);
}

/* Add a symbol. @line: "address type name\t[module]\n"; gets a NUL after the name */
static int add_line(struct images *l, struct text_bounds *b, char *line)
{
	char *module = strchr(line, '\t'), *name, *end;
	uint64_t addr;
	size_t i;

	if (!module) {
		note_bound_symbol(b, line);
		return 0;
	}
	*module++ = '\0';
	module[strcspn(module, "\n")] = '\0';
	for (i = 0; i < ARRAY_SIZE(sources) && strcmp(sources[i].module, module) != 0; i++)
		;
	addr = strtoull(line, &end, 16);
	if (i == ARRAY_SIZE(sources) || !addr || end[0] != ' ' || !end[1] || end[2] != ' ')
		return 0;
	name = end + 3;
	return name[0] ? images__add(l, addr, sources[i].type, name) : 0;
}

static int compare_images(const void *a, const void *b)
{
	const struct image *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int add_symbols(const struct images *l, struct kernel_state *k)
{
	uint64_t page = sysconf(_SC_PAGESIZE), len;
	int err = 0;
	size_t i;

	for (i = 0; i < l->n && !err; i++) {
		const struct image *v = &l->v[i];

		len = page;
		if (i + 1 < l->n && v[1].addr - v->addr < len)
			len = v[1].addr - v->addr;
		if (v->name && len)
			err = kernel_state__add_symbol(k, v->addr, len, v->type, v->name);
	}
	return err;
}

int kernel_images__read(const char *path, struct kernel_state *k, struct kernel_maps *text)
{
	RAISED_RIGHTS(path ? 0 : RIGHTS_PROCESSES);
	FILE *f = fopen(path ? path : "/proc/kallsyms", "re");
	struct text_bounds bounds = { 0 };
	struct images l = { 0 };
	char room[16384], *line = NULL;
	size_t size = 0;
	int err = 0;

	if (!f)
		return 0;
	/* with a buffer of ours: if stdio cannot allocate one, it reads byte by byte */
	setvbuf(f, room, _IOFBF, sizeof(room));
	while (!err && getline(&line, &size, f) > 0)
		err = add_line(&l, &bounds, line);
	free(line);
	fclose(f);
	if (!err && text)
		err = add_kernel_text(&bounds, text);
	if (!err && l.n) {
		qsort(l.v, l.n, sizeof(*l.v), compare_images);
		err = add_symbols(&l, k);
	}
	images__free(&l);
	return err;
}
