// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "common/cleanup.h"
#include "symbols/elf_files.h"
#include "symbols/file_search.h"
#include "symbols/module_files.h"

/* Read the mapped file, or a copy. Sets *ret_other if a candidate has another build id. */
static bool read_mapped(const struct mapped_file *m, struct elf_symbols *ret, bool *ret_other)
{
	for (unsigned int i = 0; i < FILE_SEARCH_MAPPED; i++) {
		_cleanup_close_ int fd = file_search__mapped(m, i);

		if (fd >= 0 && !elf_files__has_id(fd, m->id))
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

		if (fd >= 0 && elf_files__take_debug(fd, id, to))
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

		if (fd >= 0 && elf_files__has_id(fd, id) && !cfi__open(fd, &cfi))
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
		err = elf_files__read_perf_map(fd, ret);
	if (err < 0)
		return err == -ENOMEM ? "out of memory for its symbols"
				      : "has a perf-PID.map that cannot be read";
	return NULL;
}
