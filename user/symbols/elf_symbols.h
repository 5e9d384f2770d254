/* SPDX-License-Identifier: GPL-2.0-only */
/* Function symbols of ELF files, and where in memory their bytes belong. */
#ifndef FRBPF_SYMBOLS_ELF_SYMBOLS_H
#define FRBPF_SYMBOLS_ELF_SYMBOLS_H

#include "symbols/symbol_table.h"

/* A part of the file that is mapped executable. */
struct elf_segment {
	uint64_t offset, size; /* in the file, bytes */
	uint64_t vaddr;
};

#define ELF_SEGMENTS_MAX 16
#define ELF_DEBUGLINK_MAX 256

struct elf_symbols { /* { 0 } is an empty one */
	struct symbol_table table; /* by vaddr */
	struct symbol_table stubs; /* elf_plt.h */
	struct elf_segment segments[ELF_SEGMENTS_MAX]; /* none in a file of debug information */
	size_t n_segments;
	bool full;			 /* .symtab, not only what is exported */
	char debuglink[ELF_DEBUGLINK_MAX]; /* name of the file with the rest; "": not told */
};

/* From an open file. 0, -ENOENT (not an ELF file of a known kind), -ENOMEM. */
int elf_symbols__read(int fd, struct elf_symbols *ret);
/* Where the byte at @offset of the file is linked to. False: in no executable segment. */
bool elf_symbols__vaddr(const struct elf_symbols *e, uint64_t offset, uint64_t *ret);
/* The symbol at an address of the kind that elf_symbols__vaddr() gives. NULL: none. */
const struct symbol *elf_symbols__find(const struct elf_symbols *e, uint64_t vaddr);
void elf_symbols__free(struct elf_symbols *e);

#endif
