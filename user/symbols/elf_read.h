/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the functions of ELF files: for `show` by address, for rules on `uprobe:` by name. Works on
 * copies (common/elf_copy.h), because the files may belong to anybody.
 */
#ifndef FRBPF_SYMBOLS_ELF_READ_H
#define FRBPF_SYMBOLS_ELF_READ_H

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "symbols/symbol_table.h"

struct elf_function {
	const char *name; /* without a version; valid only during the call */
	uint64_t addr;
	uint64_t size;	/* 0: unknown */
	uint64_t limit; /* end of its section */
	enum symbol_rank rank;
	bool chosen;	/* IFUNC: a resolver chooses the function when the program starts */
	bool elsewhere; /* undefined here: this file only calls it */
};
typedef int (*elf_function_fn)(const struct elf_function *f, void *arg);

/* For which functions a file has names. */
enum elf_names {
	ELF_NAMES_EXPORTED, /* at most those of .dynsym */
	ELF_NAMES_MINI,	    /* .gnu_debugdata: all functions, but no debug information */
	ELF_NAMES_FULL,	    /* .symtab */
};

/* Find the section @name. NULL: there is none, or it has no data in this file. */
Elf_Scn *elf_read__section(Elf *elf, const char *name, GElf_Shdr *ret);

/*
 * Call @fn with each function of .symtab and .dynsym. If there is no .symtab, those of
 * .gnu_debugdata follow, if that section was copied. A function may come twice. Non-zero from @fn
 * ends the walk and is returned. -EFBIG: a section of symbols has more than @max bytes, or its
 * names are far longer than their table; -ENOMEM.
 */
int elf_read__functions(Elf *elf, uint64_t max, elf_function_fn fn, void *arg, enum elf_names *ret);

#endif
