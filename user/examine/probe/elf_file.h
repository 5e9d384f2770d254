/* SPDX-License-Identifier: GPL-2.0-only */
/* A program or library that probes are put into: what it is, its code, its functions, its static
 * probes. Nothing in it is trusted. */
#ifndef FRBPF_EXAMINE_ELF_FILE_H
#define FRBPF_EXAMINE_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "perfdata/build_id.h"
#include "symbols/elf_read.h"
#include "symbols/elf_symbols.h"

struct elf_file;

/*
 * Read the open file @fd, which messages call @name. @fd is borrowed and stays open longer than this. @ours: what it has
 * compressed counts. Only programs and libraries of this machine that uprobes can be put into. -EINVAL, or the errno of
 * reading it, with words in @err; -ENOEXEC: it is no ELF file.
 */
int elf_file__open(int fd, const char *name, bool ours, struct elf_file **ret, struct err *err);
void elf_file__free(struct elf_file *f);

/* Would debug files have functions that it lacks? Then its build id, and the name that it gives them, or "". */
bool elf_file__wants_debug(const struct elf_file *f, struct build_id *ret_id,
			   char ret_link[ELF_DEBUGLINK_MAX]);
/* @n open files, borrowed as @fd, that may be its debug files. */
void elf_file__use_debug(struct elf_file *f, const int *fds, size_t n);

const char *elf_file__name(const struct elf_file *f);
/* e_machine */
int elf_file__machine(const struct elf_file *f);
/* Built by Go: its stacks move, and its calls change threads. */
bool elf_file__is_go(const struct elf_file *f);

/* Where in the file the code at @addr is. -ENOENT: no code is there. */
int elf_file__offset(const struct elf_file *f, uint64_t addr, uint64_t *ret);
/* @size bytes of code at an address, or NULL. Valid as long as @f. */
const void *elf_file__code(struct elf_file *f, uint64_t addr, uint64_t size);

/*
 * Call @fn with each function that has a name: in the file itself, in its .gnu_debugdata, or in a debug file that is of
 * this very build. As elf_read__functions().
 */
int elf_file__each_function(struct elf_file *f, elf_function_fn fn, void *arg);
/* Has it nothing but the symbols that are needed to link it at run time? After the functions were
 * asked for. */
bool elf_file__is_stripped(const struct elf_file *f);

struct elf_usdt {
	const char *provider, *name, *args; /* valid during the call only */
	uint64_t addr;			    /* as the note has it */
	uint64_t base;			    /* likewise: where section .stapsdt.base was then */
	uint64_t semaphore;		    /* likewise: counts who watches; 0: there is none */
};
/* Call @fn with each static probe; one that is in several places comes as often. As above. */
int elf_file__each_usdt(struct elf_file *f, int (*fn)(const struct elf_usdt *p, void *arg),
			void *arg);
/* Where in the file it is, and its semaphore, 0 for none. -ENOENT: not in code, or not in data. */
int elf_file__usdt_offset(const struct elf_file *f, const struct elf_usdt *p, uint64_t *ret,
			  uint64_t *ret_semaphore);

#endif
