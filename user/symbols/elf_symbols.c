// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/elf_copy.h"
#include "symbols/elf_plt.h"
#include "symbols/elf_symbols.h"

/* Bytes that libelf may take for the symbols of one file, where only some are wanted. */
#define WANTED_SECTION_MAX (64u << 20)

static int read_segments(Elf *elf, struct elf_symbols *e)
{
	size_t n, i;
	GElf_Phdr ph;

	if (elf_getphdrnum(elf, &n))
		return -ENOENT;
	for (i = 0; i < n && e->n_segments < ELF_SEGMENTS_MAX; i++) {
		if (!gelf_getphdr(elf, i, &ph))
			return -ENOENT;
		/* a file with debug information alone has nothing of them, and another p_offset */
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
		/* a map begins at a page: what stands there before the segment belongs to it */
		uint64_t first = s->offset & ~4095ULL;

		if (offset >= first && offset - first < s->size + (s->offset - first)) {
			*ret = s->vaddr + (offset - s->offset);
			return true;
		}
	}
	return false;
}

/* Tell the tables where the wanted bytes are linked to. */
static int want(struct elf_symbols *e)
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

static enum symbol_rank rank(const GElf_Sym *sym)
{
	switch (GELF_ST_BIND(sym->st_info)) {
	case STB_GLOBAL:
		return SYMBOL_GLOBAL;
	case STB_WEAK:
		return SYMBOL_WEAK;
	default:
		return SYMBOL_LOCAL;
	}
}

/* A function, or a label of assembly code that is not a mere jump target. */
static bool is_wanted(const GElf_Sym *sym, const char *name)
{
	switch (GELF_ST_TYPE(sym->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return true;
	case STT_NOTYPE: /* "$x", "$d": what kind of bytes follow, on arm64 */
		return name[0] != '$' && GELF_ST_VISIBILITY(sym->st_other) != STV_HIDDEN &&
		       GELF_ST_VISIBILITY(sym->st_other) != STV_INTERNAL;
	default:
		return false;
	}
}

static int add_symbol(Elf *elf, const GElf_Sym *sym, const char *name, struct elf_symbols *e)
{
	GElf_Shdr section;
	Elf_Scn *scn;

	if (!name || !name[0] || sym->st_shndx == SHN_UNDEF || sym->st_shndx >= SHN_LORESERVE ||
	    !is_wanted(sym, name))
		return 0;
	scn = elf_getscn(elf, sym->st_shndx);
	if (!scn || !gelf_getshdr(scn, &section) || !(section.sh_flags & SHF_EXECINSTR))
		return 0;
	return symbol_table__add(&e->table, sym->st_value, sym->st_size,
				 section.sh_addr + section.sh_size, name,
				 strcspn(name, "@"), /* without its version */
				 rank(sym));
}

static int read_symbols(Elf *elf, Elf_Scn *scn, const GElf_Shdr *header, struct elf_symbols *e)
{
	GElf_Shdr names = { 0 };
	Elf_Data *data;
	GElf_Sym sym;
	int err = 0;

	if (e->wanted &&
	    (!gelf_getshdr(elf_getscn(elf, header->sh_link), &names) ||
	     header->sh_size > WANTED_SECTION_MAX || names.sh_size > WANTED_SECTION_MAX))
		return -EFBIG;
	data = elf_getdata(scn, NULL);
	for (int i = 0; data && !err && gelf_getsym(data, i, &sym); i++)
		err = add_symbol(elf, &sym, elf_strptr(elf, header->sh_link, sym.st_name), e);
	return err;
}

static void read_debuglink(Elf_Scn *scn, struct elf_symbols *e)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t len = data && data->d_buf ? strnlen(data->d_buf, data->d_size) : 0;

	/* a name, not a path that leads elsewhere */
	if (!len || len == data->d_size || len >= sizeof(e->debuglink) ||
	    memchr(data->d_buf, '/', len))
		return;
	memcpy(e->debuglink, data->d_buf, len + 1);
}

static int read_sections(Elf *elf, struct elf_symbols *e)
{
	Elf_Scn *scn = NULL, *symtab = NULL, *dynsym = NULL;
	GElf_Shdr sh, symtab_header, dynsym_header;
	const char *name;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return 0;
	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, sh.sh_name);
		if (sh.sh_type == SHT_SYMTAB) {
			symtab = scn;
			symtab_header = sh;
		} else if (sh.sh_type == SHT_DYNSYM) {
			dynsym = scn;
			dynsym_header = sh;
		} else if (name && !strcmp(name, ".gnu_debuglink")) {
			read_debuglink(scn, e);
		}
	}
	e->full = symtab;
	if (symtab)
		return read_symbols(elf, symtab, &symtab_header, e);
	return dynsym ? read_symbols(elf, dynsym, &dynsym_header, e) : 0;
}

static int read_elf(Elf *elf, struct elf_symbols *ret)
{
	struct elf_symbols e = { .wanted = ret->wanted };
	int err = -ENOENT;

	if (elf && elf_kind(elf) == ELF_K_ELF)
		err = read_segments(elf, &e) ?:
		      want(&e) ?:
		      read_sections(elf, &e) ?:
		      elf_plt__read(elf, &e.stubs) ?:
		      symbol_table__finish(&e.table) ?: symbol_table__finish(&e.stubs);
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
	int r = elf_copy__make(fd, ELF_COPY_SYMBOLS, &copy);

	if (r == -ENOEXEC)
		return -ENOENT;
	if (r)
		return r;
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
