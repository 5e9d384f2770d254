// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>

#include "symbols/elf_plt.h"

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

int elf_plt__read(Elf *elf, struct symbol_table *t)
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
