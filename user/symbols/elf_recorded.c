// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/elf_copy.h"
#include "symbols/elf_recorded.h"
#include "symbols/text_symbols.h"

#define PERF_MAP_MAX (256u << 20)

bool elf_recorded__has_id(int fd, const struct build_id *id)
{
	struct build_id is = { 0 };

	return !id->size || (!build_id__read_fd(fd, &is) && is.size == id->size &&
			     !memcmp(is.data, id->data, id->size));
}

bool elf_recorded__take_debug(int fd, const struct build_id *id, struct elf_symbols *to)
{
	struct elf_wanted wanted = { 0 };
	struct elf_symbols e = { 0 };

	if (to->wanted) {
		wanted = *to->wanted;
		wanted.segments = to;
		e.wanted = &wanted;
	}
	if (!elf_recorded__has_id(fd, id) || elf_symbols__read(fd, &e))
		return false;
	if (!e.full || !e.table.n) {
		elf_symbols__free(&e);
		return false;
	}
	symbol_table__free(&to->table);
	to->table = e.table;
	to->full = true;
	symbol_table__free(&e.stubs);
	return true;
}

bool elf_recorded__is_ours(const struct stat *st)
{
	return (!st->st_uid || st->st_uid == geteuid()) && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

int elf_recorded__each_debug_function(int fd, const struct build_id *id, uint64_t max,
				      elf_function_fn fn, void *arg, bool *ret_found)
{
	_cleanup_close_ int copy = -1;
	enum elf_names names = ELF_NAMES_EXPORTED;
	Elf *elf;
	int err = 0;

	if (!elf_recorded__has_id(fd, id) || elf_copy__make(fd, ELF_COPY_SYMBOLS, &copy))
		return 0;
	elf = elf_begin(copy, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		err = elf_read__functions(elf, max, fn, arg, &names);
	elf_end(elf);
	*ret_found = *ret_found || names == ELF_NAMES_FULL;
	return err;
}

static int add_perf_map(const struct buf *text, void *arg)
{
	return text_symbols__perf_map(text, arg);
}

int elf_recorded__read_perf_map(int fd, struct symbol_table *ret)
{
	struct symbol_table t = { .wanted = TAKE_PTR(ret->wanted) };
	int err = text_chunks__each(fd, PERF_MAP_MAX, add_perf_map, &t) ?: symbol_table__finish(&t);

	if (err)
		symbol_table__free(&t);
	else
		*ret = t;
	return err;
}
