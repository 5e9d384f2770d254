/* SPDX-License-Identifier: GPL-2.0-only */
/* Function symbols of ELF files, and where in memory their bytes belong. */
#ifndef FRBPF_SYMBOLS_ELF_SYMBOLS_H
#define FRBPF_SYMBOLS_ELF_SYMBOLS_H

#include <libelf.h>

#include "symbols/symbol_table.h"

/* A part of the file that is mapped executable. */
struct elf_segment {
	uint64_t offset, size; /* in the file, bytes */
	uint64_t vaddr;
};

#define ELF_SEGMENTS_MAX  16
#define ELF_DEBUGLINK_MAX 256

/* Bytes of the file that will be asked for, where nothing else is. */
struct elf_wanted {
	const uint64_t *offsets; /* borrowed */
	size_t n;
	const struct elf_symbols *segments; /* of another file, where this one has none; or NULL */
};

struct elf_symbols {				       /* { 0 } is an empty one */
	struct symbol_table table;		       /* by vaddr */
	struct symbol_table stubs;		       /* elf_plt.h */
	struct elf_segment segments[ELF_SEGMENTS_MAX]; /* none in a file of debug information */
	size_t n_segments;
	const struct elf_wanted *wanted;   /* set before it is read, and until then; or NULL */
	bool full;			   /* .symtab, not only what is exported */
	char debuglink[ELF_DEBUGLINK_MAX]; /* name of the file with the rest; "": not told */
};

/* From an open file. 0, -ENOENT (not an ELF file of a known kind), -ENOMEM, and where only some
 * addresses are wanted -EFBIG: more symbols than are worth the memory. */
int elf_symbols__read(int fd, struct elf_symbols *ret);
/* The name in .gnu_debuglink; @ret stays as it is where there is none. */
void elf_symbols__read_debuglink(Elf *elf, char ret[ELF_DEBUGLINK_MAX]);
/* The segments alone. 0 or -ENOENT. */
int elf_symbols__read_segments(Elf *elf, struct elf_symbols *ret);
/* Where the byte at @offset of the file is linked to. False: in no executable segment. */
bool elf_symbols__vaddr(const struct elf_symbols *e, uint64_t offset, uint64_t *ret);
/* The symbol at an address of the kind that elf_symbols__vaddr() gives. NULL: none. */
const struct symbol *elf_symbols__find(const struct elf_symbols *e, uint64_t vaddr);
void elf_symbols__free(struct elf_symbols *e);

#endif
