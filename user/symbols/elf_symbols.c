// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/elf_copy.h"
#include "symbols/elf_plt.h"
#include "symbols/elf_read.h"
#include "symbols/elf_symbols.h"

/* Limit of a file's symbol sections, in bytes, if only some addresses are wanted. */
#define WANTED_SECTION_MAX (64u << 20)

int elf_symbols__read_segments(Elf *elf, struct elf_symbols *e)
{
	size_t n, i;
	GElf_Phdr ph;

	if (elf_getphdrnum(elf, &n))
		return -ENOENT;
	for (i = 0; i < n && e->n_segments < ELF_SEGMENTS_MAX; i++) {
		if (!gelf_getphdr(elf, i, &ph))
			return -ENOENT;
		/* segments of a debug file have no bytes in it, and another p_offset */
		if (ph.p_type == PT_LOAD && ph.p_flags & PF_X && ph.p_filesz)
			e->segments[e->n_segments++] =
				(struct elf_segment){ ph.p_offset, ph.p_filesz, ph.p_vaddr };
	}
	return 0;
}

bool elf_symbols__vaddr(const struct elf_symbols *e, uint64_t offset, uint64_t *ret)
{
	for (size_t i = 0; i < e->n_segments; i++) {
		const struct elf_segment *s = &e->segments[i];
		/* maps begin at a page boundary, so they include bytes before the segment */
		uint64_t first = s->offset & ~4095ULL;

		if (offset >= first && offset - first < s->size + (s->offset - first)) {
			*ret = s->vaddr + (offset - s->offset);
			return true;
		}
	}
	return false;
}

/* Announce the linked addresses of the wanted bytes to the tables. */
static int want_addresses(struct elf_symbols *e)
{
	const struct elf_wanted *w = e->wanted;
	_cleanup_free_ uint64_t *addrs = w ? calloc(w->n ?: 1, sizeof(*addrs)) : NULL;
	size_t n = 0;

	if (!w)
		return 0;
	if (!addrs)
		return -ENOMEM;
	for (size_t i = 0; i < w->n; i++)
		n += elf_symbols__vaddr(w->segments ?: e, w->offsets[i], &addrs[n]);
	return symbol_table__want(&e->table, addrs, n) ?: symbol_table__want(&e->stubs, addrs, n);
}

static int add_function(const struct elf_function *f, void *arg)
{
	struct elf_symbols *e = arg;

	return f->elsewhere ? 0
			    : symbol_table__add(&e->table, f->addr, f->size, f->limit, f->name,
						strlen(f->name), f->rank);
}

static int read_functions(Elf *elf, struct elf_symbols *e)
{
	enum elf_names names = ELF_NAMES_EXPORTED;
	int err = elf_read__functions(elf, e->wanted ? WANTED_SECTION_MAX : UINT64_MAX,
				      add_function, e, &names);

	e->full = names == ELF_NAMES_FULL;
	return err;
}

void elf_symbols__read_debuglink(Elf *elf, char ret[ELF_DEBUGLINK_MAX])
{
	GElf_Shdr sh;
	Elf_Scn *scn = elf_read__section(elf, ".gnu_debuglink", &sh);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	size_t len = data && data->d_buf ? strnlen(data->d_buf, data->d_size) : 0;

	/* refuse a path, which might lead elsewhere */
	if (!len || len == data->d_size || len >= ELF_DEBUGLINK_MAX ||
	    memchr(data->d_buf, '/', len))
		return;
	memcpy(ret, data->d_buf, len + 1);
}

static int read_elf(Elf *elf, struct elf_symbols *ret)
{
	struct elf_symbols e = { .wanted = ret->wanted };
	int err = -ENOENT;

	if (elf && elf_kind(elf) == ELF_K_ELF)
		err = elf_symbols__read_segments(elf, &e) ?:
		      want_addresses(&e) ?:
		      read_functions(elf, &e) ?:
		      elf_plt__read(elf, &e.stubs) ?:
		      symbol_table__finish(&e.table) ?: symbol_table__finish(&e.stubs);
	if (!err)
		elf_symbols__read_debuglink(elf, e.debuglink);
	elf_end(elf);
	e.wanted = NULL;
	if (err)
		elf_symbols__free(&e);
	else
		*ret = e;
	return err;
}

int elf_symbols__read(int fd, struct elf_symbols *ret)
{
	_cleanup_close_ int copy = -1;
	int err = elf_copy__make(fd, ELF_COPY_SYMBOLS | ELF_COPY_DEBUGDATA, &copy);

	if (err == -ENOEXEC)
		return -ENOENT;
	if (err)
		return err;
	elf_version(EV_CURRENT);
	return read_elf(elf_begin(copy, ELF_C_READ, NULL), ret);
}

const struct symbol *elf_symbols__find(const struct elf_symbols *e, uint64_t vaddr)
{
	return symbol_table__find(&e->table, vaddr) ?: symbol_table__find(&e->stubs, vaddr);
}

void elf_symbols__free(struct elf_symbols *e)
{
	symbol_table__free(&e->stubs);
	symbol_table__free(&e->table);
	*e = (struct elf_symbols){ 0 };
}
