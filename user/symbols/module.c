// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "symbols/elf_recorded.h"
#include "symbols/file_search.h"
#include "symbols/kernel_space.h"
#include "symbols/kernel_symbols.h"
#include "symbols/module.h"

#define DELETED " (deleted)"

enum module_kind module__user_kind(const char *name)
{
	static const char *const anon[] = { "//anon", "[anon", "/anon_hugepage", "/dev/zero" };

	for (size_t i = 0; i < ARRAY_SIZE(anon); i++)
		if (!strncmp(name, anon[i], strlen(anon[i])))
			return MODULE_ANON;
	if (!strcmp(name, "[vdso]"))
		return MODULE_VDSO;
	return name[0] == '/' && name[1] != '/' ? MODULE_FILE : MODULE_OTHER;
}

/* Make "[nf_tables]" from "/lib/modules/6.1.0/kernel/net/nf-tables.ko.xz" or "[nf_tables]". */
static void name_kernel_module(const char *path, char *to)
{
	const char *base = strrchr(path, '/');
	size_t n;

	base = base ? base + 1 : path + (path[0] == '[');
	n = strcspn(base, ".]");
	*to++ = '[';
	for (size_t i = 0; i < n; i++)
		*to++ = base[i] == '-' ? '_' : base[i];
	strcpy(to, "]");
}

static void copy_file_name(const char *path, char *to)
{
	const char *base = strrchr(path, '/');
	size_t len, cut = strlen(DELETED);

	strcpy(to, base ? base + 1 : path);
	len = strlen(to);
	if (len > cut && !strcmp(to + len - cut, DELETED))
		to[len - cut] = '\0';
}

int module__init(struct module *m, enum module_kind kind, const char *path,
		 const struct build_id *id, uint32_t pid)
{
	size_t len = strlen(path) + 1;
	char *owned = malloc(2 * len + 16), *name = owned + len;

	if (!owned)
		return -ENOMEM;
	memcpy(owned, path, len);
	switch (kind) {
	case MODULE_KERNEL:
		strcpy(name, "[kernel]");
		break;
	case MODULE_KERNEL_MODULE:
		name_kernel_module(path, name);
		break;
	case MODULE_KSYMBOL:
		strcpy(name, "[bpf]");
		break;
	case MODULE_ANON:
		strcpy(name, "[jit]");
		break;
	default:
		copy_file_name(path, name);
		break;
	}
	*m = (struct module){
		.kind = kind, .path = owned, .name = name, .id = *id, .pid = pid, .owned = owned
	};
	return 0;
}

void module__free(struct module *m)
{
	elf_symbols__free(&m->symbols);
	cfi__free(m->cfi);
	free(m->wanted);
	free(m->owned);
}

static bool is_elf(const struct module *m)
{
	return m->kind == MODULE_FILE || m->kind == MODULE_VDSO;
}

int module__want(struct module *m, const struct map *map, uint64_t addr)
{
	uint64_t *v = reallocarray(m->wanted, m->n_wanted + 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	m->wanted = v;
	v[m->n_wanted++] = is_elf(m) ? addr - map->start + map->pgoff : addr;
	m->only_wanted = true;
	return 0;
}

static void read_symbols_by_kind(struct module *m, const struct map *map)
{
	switch (m->kind) {
	case MODULE_FILE:
		m->why_not = module_files__read(m->path, &m->id, m->pid, map->start, map->end,
						&m->symbols);
		break;
	case MODULE_VDSO:
		m->why_not = module_files__read_vdso(&m->id, &m->symbols);
		break;
	case MODULE_ANON:
		m->why_not = module_files__read_perf_map(m->pid, &m->symbols.table);
		break;
	case MODULE_KERNEL:
		m->why_not = kernel_symbols__read(map->pgoff, &m->id, &m->symbols.table, &m->delta);
		break;
	case MODULE_KERNEL_MODULE:
		m->why_not = kernel_symbols__read_module(m->name, map->start, &m->id,
							 &m->symbols.table, &m->delta);
		break;
	default:
		m->why_not = "has no symbols";
		break;
	}
}

static void load_symbols(struct module *m, const struct map *map)
{
	struct elf_wanted wanted = { .offsets = m->wanted, .n = m->n_wanted };

	m->loaded = true;
	if (m->only_wanted && is_elf(m))
		m->symbols.wanted = &wanted;
	else if (m->only_wanted && symbol_table__want(&m->symbols.table, m->wanted, m->n_wanted))
		m->why_not = "out of memory for its symbols";
	if (!m->why_not)
		read_symbols_by_kind(m, map);
	m->symbols.wanted = NULL;
	free(m->wanted);
	m->wanted = NULL;
}

const struct symbol *module__find(struct module *m, const struct map *map, uint64_t addr,
				  uint64_t *ret_offset)
{
	const struct symbol *symbol;
	uint64_t at = addr;

	if (!m->loaded)
		load_symbols(m, map);
	if (m->why_not)
		return NULL;
	switch (m->kind) {
	case MODULE_FILE:
	case MODULE_VDSO:
		if (!elf_symbols__vaddr(&m->symbols, addr - map->start + map->pgoff, &at))
			return NULL;
		break;
	case MODULE_KERNEL:
	case MODULE_KERNEL_MODULE:
		at += m->delta;
		break;
	default:
		break;
	}
	symbol = elf_symbols__find(&m->symbols, at);
	if (symbol)
		*ret_offset = at - symbol->start;
	return symbol;
}

const struct cfi *module__cfi(struct module *m, const struct map *map)
{
	if (m->cfi_asked || !is_elf(m))
		return m->cfi;
	m->cfi_asked = true;
	m->cfi = m->kind == MODULE_VDSO
			 ? module_files__vdso_cfi(&m->id)
			 : module_files__cfi(m->path, &m->id, m->pid, map->start, map->end);
	return m->cfi;
}

/* Read the mapped file, or a copy. Sets *ret_other if a candidate has another build id. */
static bool read_mapped(const struct mapped_file *m, struct elf_symbols *ret, bool *ret_other)
{
	for (unsigned int i = 0; i < FILE_SEARCH_MAPPED; i++) {
		_cleanup_close_ int fd = file_search__mapped(m, i);

		if (fd >= 0 && !elf_recorded__has_id(fd, m->id))
			*ret_other = true;
		else if (fd >= 0 && !elf_symbols__read(fd, ret))
			return true;
	}
	return false;
}

/* Look by build id, then by the name in .gnu_debuglink, as perf does. */
static void find_debug_file(const char *path, const struct build_id *id, struct elf_symbols *to)
{
	for (unsigned int i = 0; i < FILE_SEARCH_DEBUG; i++) {
		_cleanup_close_ int fd = file_search__debug(path, id, to->debuglink, i);

		if (fd >= 0 && elf_recorded__take_debug(fd, id, to))
			return;
	}
}

static int read_own_id(const char *path, struct build_id *ret)
{
	static const struct build_id unknown;
	const struct mapped_file m = { .path = path, .id = &unknown };
	_cleanup_close_ int fd = file_search__mapped(&m, FILE_SEARCH_AS_NAMED);

	return fd < 0 ? fd : build_id__read_fd(fd, ret);
}

const char *module_files__read(const char *path, const struct build_id *id, uint32_t pid,
			       uint64_t start, uint64_t end, struct elf_symbols *ret)
{
	const struct mapped_file mapped = { path, id, pid, start, end };
	struct elf_symbols e = { .wanted = ret->wanted };
	struct build_id own = *id;
	bool other = false;

	if (!read_mapped(&mapped, &e, &other))
		return other ? "is another build than the one recorded" : "is not here";
	if (!own.size && read_own_id(path, &own)) /* not in the recording */
		own.size = 0;
	e.wanted = ret->wanted;
	if (!e.full)
		find_debug_file(path, &own, &e);
	e.wanted = NULL;
	if (!e.table.n || !e.n_segments) {
		elf_symbols__free(&e);
		return "has no symbols";
	}
	*ret = e;
	return NULL;
}

const char *module_files__read_vdso(const struct build_id *id, struct elf_symbols *ret)
{
	_cleanup_close_ int fd = file_search__vdso(id);

	if (!id->size)
		return "has no build id";
	if (fd < 0)
		return "is that of another kernel";
	return elf_symbols__read(fd, ret) ? "has no symbols" : NULL;
}

struct cfi *module_files__cfi(const char *path, const struct build_id *id, uint32_t pid,
			      uint64_t start, uint64_t end)
{
	const struct mapped_file mapped = { path, id, pid, start, end };
	struct cfi *cfi;

	for (unsigned int i = 0; i < FILE_SEARCH_MAPPED; i++) {
		_cleanup_close_ int fd = file_search__mapped(&mapped, i);

		if (fd >= 0 && elf_recorded__has_id(fd, id) && !cfi__open(fd, &cfi))
			return cfi;
	}
	return NULL;
}

struct cfi *module_files__vdso_cfi(const struct build_id *id)
{
	_cleanup_close_ int fd = file_search__vdso(id);
	struct cfi *cfi;

	return fd >= 0 && !cfi__open(fd, &cfi) ? cfi : NULL;
}

const char *module_files__read_perf_map(uint32_t pid, struct symbol_table *ret)
{
	_cleanup_close_ int fd = file_search__perf_map(pid);
	int err = fd;

	if (fd == -EPERM)
		return "has a perf-PID.map of another user";
	if (fd == -ENOENT || fd == -ESRCH)
		return "has no /tmp/perf-PID.map";
	if (fd >= 0)
		err = elf_recorded__read_perf_map(fd, ret);
	if (err < 0)
		return err == -ENOMEM ? "out of memory for its symbols"
				      : "has a perf-PID.map that cannot be read";
	return NULL;
}
