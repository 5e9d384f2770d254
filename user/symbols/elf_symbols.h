/* SPDX-License-Identifier: GPL-2.0-only */
/* Function symbols of ELF files, and how file offsets map to addresses. */
#ifndef FRBPF_SYMBOLS_ELF_SYMBOLS_H
#define FRBPF_SYMBOLS_ELF_SYMBOLS_H

#include <libelf.h>

#include "symbols/symbol_table.h"

/* An executable segment of the file. */
struct elf_segment {
	uint64_t offset, size; /* in the file, bytes */
	uint64_t vaddr;
};

#define ELF_SEGMENTS_MAX  16
#define ELF_DEBUGLINK_MAX 256

/* The only bytes of the file that will be looked up. */
struct elf_wanted {
	const uint64_t *offsets; /* borrowed */
	size_t n;
	const struct elf_symbols *segments; /* use the segments of this file instead; or NULL */
};

struct elf_symbols {				       /* { 0 } is an empty one */
	struct symbol_table table;		       /* by vaddr */
	struct symbol_table stubs;		       /* "strcmp@plt" */
	struct elf_segment segments[ELF_SEGMENTS_MAX]; /* none in a debug file */
	size_t n_segments;
	const struct elf_wanted *wanted;   /* set only while it is read; NULL: everything */
	bool full;			   /* from .symtab, not only exported ones */
	char debuglink[ELF_DEBUGLINK_MAX]; /* name of the debug file; "": unknown */
};

/*
 * Read the file @fd. 0; -ENOENT: not an ELF file; -ENOMEM; -EFBIG: only some addresses are wanted,
 * but the file has too many symbols; other errors of elf_copy__make().
 */
int elf_symbols__read(int fd, struct elf_symbols *ret);
/* Get the name in .gnu_debuglink; without one @ret is unchanged. */
void elf_symbols__read_debuglink(Elf *elf, char ret[ELF_DEBUGLINK_MAX]);
/* Read only the segments. 0 or -ENOENT. */
int elf_symbols__read_segments(Elf *elf, struct elf_symbols *ret);
/* Get the linked address of the byte at @offset in the file. False: in no executable segment. */
bool elf_symbols__vaddr(const struct elf_symbols *e, uint64_t offset, uint64_t *ret);
/* Find the symbol at @vaddr, an address from elf_symbols__vaddr(). NULL: none. */
const struct symbol *elf_symbols__find(const struct elf_symbols *e, uint64_t vaddr);
void elf_symbols__free(struct elf_symbols *e);

#endif
