// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/elf_copy.h"
#include "symbols/elf_read.h"
#include "symbols/elf_symbols.h"
#include "symbols/symbol_table.h"

/* Names for the PLT stubs through which a module calls others: "strcmp@plt". No symbol table has
 * them. */

#define STUB_SIZE 16 /* bytes, on both machines */

struct plt {
	GElf_Shdr stubs;     /* .plt */
	GElf_Shdr secondary; /* .plt.sec: if present, the stubs that are called; it has no header */
	GElf_Shdr relocations_header, symbols_header;
	Elf_Scn *relocations, *symbols;
};

/* Bytes before the first stub. False: unknown machine. */
static bool header_size(Elf *elf, uint64_t *ret)
{
	GElf_Ehdr eh;

	if (!gelf_getehdr(elf, &eh))
		return false;
	*ret = eh.e_machine == EM_X86_64 ? 16 : 32;
	return eh.e_machine == EM_X86_64 || eh.e_machine == EM_AARCH64;
}

static bool find_sections(Elf *elf, struct plt *p)
{
	Elf_Scn *scn = NULL;
	const char *name;
	GElf_Shdr sh;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return false;
	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, sh.sh_name);
		if (!name)
			continue;
		if (!strcmp(name, ".plt")) {
			p->stubs = sh;
		} else if (!strcmp(name, ".plt.sec")) {
			p->secondary = sh;
		} else if (!strcmp(name, ".rela.plt") && sh.sh_type == SHT_RELA) {
			p->relocations = scn;
			p->relocations_header = sh;
		}
	}
	if (!p->relocations || !p->stubs.sh_size)
		return false;
	p->symbols = elf_getscn(elf, p->relocations_header.sh_link);
	return p->symbols && gelf_getshdr(p->symbols, &p->symbols_header);
}

/* Add the names of the stubs of an x86-64 or arm64 file; of other machines none. 0 or -ENOMEM. */
static int elf_plt__read(Elf *elf, struct symbol_table *t)
{
	struct plt p = { 0 };
	Elf_Data *relocations, *symbols;
	uint64_t at, end, header;
	GElf_Rela rela;
	GElf_Sym sym;
	int err = 0;

	if (!header_size(elf, &header) || !find_sections(elf, &p))
		return 0;
	relocations = elf_getdata(p.relocations, NULL);
	symbols = elf_getdata(p.symbols, NULL);
	if (!relocations || !symbols)
		return 0;
	at = p.secondary.sh_size ? p.secondary.sh_addr : p.stubs.sh_addr + header;
	end = p.secondary.sh_size ? p.secondary.sh_addr + p.secondary.sh_size
				  : p.stubs.sh_addr + p.stubs.sh_size;
	for (int i = 0; !err && at < end && gelf_getrela(relocations, i, &rela);
	     i++, at += STUB_SIZE) {
		const char *name = NULL;
		char text[512];
		int n;

		if (gelf_getsym(symbols, GELF_R_SYM(rela.r_info), &sym))
			name = elf_strptr(elf, p.symbols_header.sh_link, sym.st_name);
		if (!name || !name[0])
			continue;
		n = snprintf(text, sizeof(text), "%s@plt", name);
		err = symbol_table__add(t, at, STUB_SIZE, 0, text,
					n < (int)sizeof(text) ? n : (int)sizeof(text) - 1,
					SYMBOL_LOCAL);
	}
	return err;
}

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

static int add_elf_function(const struct elf_function *f, void *arg)
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
				      add_elf_function, e, &names);

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
