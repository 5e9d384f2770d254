/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one reader of functions in ELF files: for `show` by address, for rules on `uprobe:` by name. It works on
 * copies (common/elf_copy.h), as the files may be anybody's.
 */
#ifndef FRBPF_SYMBOLS_ELF_READ_H
#define FRBPF_SYMBOLS_ELF_READ_H

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "symbols/symbol_table.h"

struct elf_function {
	const char *name; /* without a version; valid during the call only */
	uint64_t addr;
	uint64_t size;	/* 0: unknown */
	uint64_t limit; /* end of its section */
	enum symbol_rank rank;
	bool chosen;	/* IFUNC: what is called is chosen when the program starts */
	bool elsewhere; /* it is in another file: this one only calls it */
};
typedef int (*elf_function_fn)(const struct elf_function *f, void *arg);

/* What a file has names for. */
enum elf_names {
	ELF_NAMES_EXPORTED, /* at most what is needed to link at run time */
	ELF_NAMES_MINI,	    /* .gnu_debugdata too: all functions, without debug information */
	ELF_NAMES_FULL,	    /* .symtab */
};

/* The section of that name. NULL: none, or it has nothing in this file. */
Elf_Scn *elf_read__section(Elf *elf, const char *name, GElf_Shdr *ret);

/*
 * Call @fn with each function of .symtab and .dynsym, and where there is no .symtab, of .gnu_debugdata if that was
 * copied. One may come twice. Not 0 from @fn ends it and is returned. -EFBIG: a section of symbols has more than
 * @max bytes, or its names are out of proportion to their table; -ENOMEM.
 */
int elf_read__functions(Elf *elf, uint64_t max, elf_function_fn fn, void *arg, enum elf_names *ret);

#endif
