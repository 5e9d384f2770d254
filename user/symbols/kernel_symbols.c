// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/opening.h"
#include "common/rights.h"
#include "symbols/kernel_symbols.h"
#include "symbols/text_chunks.h"
#include "symbols/text_symbols.h"

#define KALLSYMS     "/proc/kallsyms"
#define KALLSYMS_MAX (512u << 20)
#define NOTES_MAX    65536

static const char no_memory[] = "out of memory for its symbols";
static const char hidden[] = "addresses are hidden (kernel.kptr_restrict, or no root)";

static bool same_id(const struct build_id *a, const struct build_id *b)
{
	return a->size == b->size && !memcmp(a->data, b->data, a->size);
}

struct kallsyms {
	const char *module;
	struct symbol_table *table;
	uint64_t text; /* 0: not seen yet */
};

static int add_kallsyms(const struct buf *text, void *arg)
{
	struct kallsyms *k = arg;
	uint64_t start;
	int err = text_symbols__kallsyms(text, k->module, k->table, &start);

	if (!k->text)
		k->text = start;
	return err;
}

/* Read the table from @path, and the address of its _text. */
static const char *read_kallsyms(const char *path, const char *module, struct symbol_table *ret,
				 uint64_t *ret_text)
{
	struct symbol_table t = { .wanted = TAKE_PTR(ret->wanted) };
	struct kallsyms k = { .module = module, .table = &t };
	RAISED_RIGHTS(!strcmp(path, KALLSYMS) ? RIGHTS_PROCESSES : 0);
	_cleanup_close_ int fd = opening__kernel(path);
	int err = fd < 0 ? fd : text_chunks__each(fd, KALLSYMS_MAX, add_kallsyms, &k);

	err = err ?: symbol_table__finish(&t);
	if (!err && t.n) {
		*ret = t;
		*ret_text = k.text;
		return NULL;
	}
	symbol_table__free(&t);
	if (err == -ENOMEM)
		return no_memory;
	return err ? "cannot read " KALLSYMS : hidden;
}

/* Path of the kallsyms that `perf record` keeps for every kernel that it records. */
static bool kept_kallsyms(const struct build_id *id, char path[static PATH_MAX])
{
	const char *home = getenv("HOME");
	int n;

	if (!home || home[0] != '/' || !id->size)
		return false;
	n = snprintf(path, PATH_MAX, "%s/.debug/[kernel.kallsyms]/", home);
	if (n + 2 * BUILD_ID_MAX + 16 >= PATH_MAX)
		return false;
	for (int i = 0; i < id->size; i++)
		n += sprintf(path + n, "%02x", id->data[i]);
	strcpy(path + n, "/kallsyms");
	return true;
}

const char *kernel_symbols__read(uint64_t text, const struct build_id *id, struct symbol_table *ret,
				 uint64_t *ret_delta)
{
	struct build_id running = { 0 };
	struct symbol_table t = { 0 };
	const char *path = KALLSYMS, *why;
	char kept[PATH_MAX];
	uint64_t there = 0;

	if (!text)
		return "the recorder was not shown the kernel's addresses";
	if (id->size && (build_id__read_kernel(&running) || !same_id(&running, id))) {
		if (!kept_kallsyms(id, kept))
			return "is not the running one";
		path = kept;
	}
	why = read_kallsyms(path, NULL, &t, &there);
	if (why)
		return path == kept ? "is not the running one" : why;
	if (!there || (!id->size && there != text)) {
		symbol_table__free(&t);
		return !there ? hidden : "has no build id and is not the running one";
	}
	*ret = t;
	*ret_delta = there - text;
	return NULL;
}

const char *kernel_symbols__read_running(const uint64_t *addrs, size_t n, struct symbol_table *ret)
{
	struct symbol_table t = { 0 };
	const char *why;
	uint64_t text;

	if (symbol_table__want(&t, addrs, n))
		return no_memory;
	why = read_kallsyms(KALLSYMS, TEXT_SYMBOLS_ANY, &t, &text);
	if (why)
		symbol_table__free(&t);
	else
		*ret = t;
	return why;
}

/* Get the address of a loaded module; false: it is not loaded, or hidden. */
static bool module_start(const char *name, size_t len, uint64_t *ret)
{
	RAISED_RIGHTS(RIGHTS_PROCESSES);
	int fd = opening__kernel("/proc/modules");
	_cleanup_fclose_ FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char line[4096];

	if (fd >= 0 && !f)
		close(fd);
	while (f && fgets(line, sizeof(line), f)) {
		const char *addr = strstr(line, " 0x");

		if (strncmp(line, name, len) || line[len] != ' ' || !addr)
			continue;
		*ret = strtoull(addr + 1, NULL, 16);
		return *ret;
	}
	return false;
}

static bool is_module_of_id(const char *name, size_t len, const struct build_id *id)
{
	struct build_id is = { 0 };
	struct buf notes = { 0 };
	char path[256];
	int err;

	if (!id->size)
		return true;
	snprintf(path, sizeof(path), "/sys/module/%.*s/notes/.note.gnu.build-id", (int)len, name);
	_cleanup_close_ int fd = opening__kernel(path);
	err = fd < 0 ? fd : buf__read_fd(&notes, fd, NOTES_MAX);
	err = err ?: build_id__from_notes(notes.data, notes.len, &is);
	buf__free(&notes);
	return !err && same_id(&is, id);
}

const char *kernel_symbols__read_module(const char *name, uint64_t start, const struct build_id *id,
					struct symbol_table *ret, uint64_t *ret_delta)
{
	size_t len = strcspn(++name, "]");
	char bare[128];
	uint64_t there, text;
	const char *why;

	if (len >= sizeof(bare) || !module_start(name, len, &there))
		return "is not loaded, or its address is hidden";
	if (!is_module_of_id(name, len, id) || (!id->size && there != start))
		return "is another build than the one recorded";
	memcpy(bare, name, len);
	bare[len] = '\0';
	why = read_kallsyms(KALLSYMS, bare, ret, &text);
	if (!why)
		*ret_delta = there - start;
	return why;
}
