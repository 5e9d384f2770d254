// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "common/rights.h"
#include "perfdata/record.h"
#include "sideband/kernel_code.h"

#define KERNEL_PID     UINT32_MAX
#define PROGRAM_PREFIX "bpf_prog_" /* BPF programs, which bpf_info.h reads by id */
#define FILE_MAX       ((size_t)64 << 20)
#define NOTE_MAX       4096

/* Add a copy of @map. 0 or -ENOMEM. */
static int kernel_maps__add(struct kernel_maps *k, const struct kernel_map *map)
{
	struct kernel_map *v = reallocarray(k->v, k->n + 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	k->v = v;
	v[k->n] = *map;
	v[k->n].name = strdup(map->name);
	if (!v[k->n].name)
		return -ENOMEM;
	k->n++;
	return 0;
}

void kernel_maps__free(struct kernel_maps *k)
{
	size_t i;

	for (i = 0; i < k->n; i++)
		free(k->v[i].name);
	free(k->v);
	*k = (struct kernel_maps){ 0 };
}

int kernel_maps__emit(const struct kernel_maps *k, uint64_t time, struct buf *out)
{
	const struct record_trailer t = { .pid = KERNEL_PID, .time = time };
	int err = 0;
	size_t i;

	for (i = 0; i < k->n && !err; i++)
		err = record__add_mmap(out, PERF_RECORD_MISC_KERNEL, KERNEL_PID, 0, k->v[i].start,
				       k->v[i].len, k->v[i].pgoff, k->v[i].name, &t);
	return err;
}

/* ---- the text, and code made at run time ---- */

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
		char *name; /* owned; NULL: a BPF program, which only ends the image before it */
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

/* ---- modules ---- */

void kernel_modules__init(struct kernel_modules *m, const char *list, const char *root)
{
	struct utsname uts;

	*m = (struct kernel_modules){ .list = list ? list : "/proc/modules" };
	pthread_mutex_init(&m->lock, NULL);
	uname(&uts);
	if (root)
		snprintf(m->root, sizeof(m->root), "%s", root);
	else
		snprintf(m->root, sizeof(m->root), "/lib/modules/%s", uts.release);
}

void kernel_modules__free(struct kernel_modules *m)
{
	if (!m->list)
		return;
	buf__free(&m->text);
	kernel_maps__free(&m->maps);
	pthread_mutex_destroy(&m->lock);
	m->list = NULL;
}

/* Does the file PATH/ext4.ko.xz hold module @name? Files may have '-' where modules have '_'. */
static bool is_module_file(const char *path, size_t len, const char *name)
{
	const char *base = memrchr(path, '/', len), *end = path + len;

	base = base ? base + 1 : path;
	for (; base < end && *name; base++, name++)
		if (*base != *name && !(*base == '-' && *name == '_'))
			return false;
	return !*name && end - base >= 3 && !memcmp(base, ".ko", 3);
}

/*
 * Write the path of module @name, or "[name]" if @dep lacks it. @dep: modules.dep, with lines
 * "kernel/fs/ext4/ext4.ko: needed.ko ...".
 */
static void module_path(const struct buf *dep, const char *root, const char *name, char *ret,
			size_t size)
{
	const char *line = dep->len ? dep->data : "", *colon;

	while ((colon = strchr(line, ':'))) {
		if (is_module_file(line, colon - line, name)) {
			snprintf(ret, size, "%s/%.*s", root, (int)(colon - line), line);
			return;
		}
		line = strchr(colon, '\n');
		if (!line)
			break;
		line++;
	}
	snprintf(ret, size, "[%s]", name);
}

static void read_sysfs_build_id(const char *name, struct build_id *ret)
{
	struct buf note = { 0 };
	char path[256];

	snprintf(path, sizeof(path), "/sys/module/%s/notes/.note.gnu.build-id", name);
	if (buf__read_file(&note, path, NOTE_MAX) || build_id__from_notes(note.data, note.len, ret))
		ret->size = 0;
	buf__free(&note);
}

/* Add a module. @line: "name size references users state address" */
static int add_module(struct kernel_maps *k, const char *line, const struct buf *dep,
		      const char *root)
{
	char name[128], path[PATH_MAX];
	struct kernel_map map = { .name = path };
	const char *hex = strstr(line, " 0x");

	if (sscanf(line, "%127s %" SCNu64, name, &map.len) != 2)
		return 0;
	map.start = hex ? strtoull(hex, NULL, 16) : 0;
	if (!map.start)
		return 0;
	module_path(dep, root, name, path, sizeof(path));
	read_sysfs_build_id(name, &map.id);
	return kernel_maps__add(k, &map);
}

static int parse_modules(const struct kernel_modules *m, const struct buf *list,
			 struct kernel_maps *ret)
{
	const char *line = list->data, *end;
	char path[sizeof(m->root) + sizeof("/modules.dep")], text[512];
	struct buf dep = { 0 };
	int err;

	snprintf(path, sizeof(path), "%s/modules.dep", m->root);
	err = buf__read_file(&dep, path, FILE_MAX);
	if (err != -ENOMEM)
		err = 0;
	for (; !err && (end = strchr(line, '\n')); line = end + 1) {
		snprintf(text, sizeof(text), "%.*s", (int)(end - line), line);
		/* cut a long list of users out of the middle: the address comes after it */
		if ((size_t)(end - line) >= sizeof(text))
			snprintf(text + 256, sizeof(text) - 256, "%s", end - 250);
		err = add_module(ret, text, &dep, m->root);
	}
	buf__free(&dep);
	return err;
}

static bool is_replaced(const struct kernel_map *old, const struct kernel_maps *now)
{
	size_t i;

	for (i = 0; i < now->n; i++)
		if (!strcmp(now->v[i].name, old->name) ||
		    (old->start < now->v[i].start + now->v[i].len &&
		     now->v[i].start < old->start + old->len))
			return true;
	return false;
}

/* Parse a changed @list, which is taken over. Under the lock. */
static int update_maps(struct kernel_modules *m, struct buf *list)
{
	struct kernel_maps now = { 0 };
	size_t i;
	int err = list->len ? parse_modules(m, list, &now) : 0;

	for (i = 0; i < m->maps.n && !err; i++)
		if (!is_replaced(&m->maps.v[i], &now))
			err = kernel_maps__add(&now, &m->maps.v[i]);
	if (err) {
		kernel_maps__free(&now);
		return err;
	}
	kernel_maps__free(&m->maps);
	m->maps = now;
	buf__free(&m->text);
	m->text = *list;
	*list = (struct buf){ 0 };
	return 0;
}

int kernel_modules__current(struct kernel_modules *m, struct kernel_maps *ret)
{
	struct buf list = { 0 };
	size_t i;
	int err;

	pthread_mutex_lock(&m->lock);
	err = buf__read_file(&list, m->list, FILE_MAX);
	if (err && err != -ENOMEM) { /* a kernel without modules */
		list.len = 0;
		err = 0;
	}
	if (!err && (list.len != m->text.len ||
		     (list.len && memcmp(list.data, m->text.data, list.len) != 0)))
		err = update_maps(m, &list);
	for (i = 0; i < m->maps.n && !err; i++)
		err = kernel_maps__add(ret, &m->maps.v[i]);
	pthread_mutex_unlock(&m->lock);
	buf__free(&list);
	return err;
}
