/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A program or library to put probes into: its code, functions and static probes. Nothing in it is
 * trusted.
 */
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
 * Read the open file @fd, called @name in messages. @fd is borrowed until elf_file__free(). @ours:
 * its compressed sections are read, too. Takes programs and libraries of this machine only. -EINVAL
 * or the errno of the read, with a message in @err; -ENOEXEC: not an ELF file.
 */
int elf_file__open(int fd, const char *name, bool ours, struct elf_file **ret, struct err *err);
void elf_file__free(struct elf_file *f);

/*
 * May a debug file name more functions? If so, sets the build id, and the file name that
 * .gnu_debuglink has; "": none.
 */
bool elf_file__wants_debug(const struct elf_file *f, struct build_id *ret_id,
			   char ret_link[ELF_DEBUGLINK_MAX]);
/* Add @n open files that may be its debug files, borrowed as @fd is. */
void elf_file__use_debug(struct elf_file *f, const int *fds, size_t n);

const char *elf_file__name(const struct elf_file *f);
/* e_machine */
int elf_file__machine(const struct elf_file *f);
/* Is it a Go program? Go moves stacks, and a call may end in another thread. */
bool elf_file__is_go(const struct elf_file *f);

/* Offset in the file of the code at @addr. -ENOENT: there is no code. */
int elf_file__offset(const struct elf_file *f, uint64_t addr, uint64_t *ret);
/* @size bytes of code at an address, or NULL. Valid until elf_file__free(). */
const void *elf_file__code(struct elf_file *f, uint64_t addr, uint64_t size);

/*
 * Call @fn with each named function: of the file, of its .gnu_debugdata, of a debug file with the
 * same build id. Errors as for elf_read__functions().
 */
int elf_file__each_function(struct elf_file *f, elf_function_fn fn, void *arg);
/* Does code of the file catch exceptions, or clean up after them? */
bool elf_file__catches(const struct elf_file *f);

/* Does the file lack all symbols but those for dynamic linking? Call it after each_function(). */
bool elf_file__is_stripped(const struct elf_file *f);

struct elf_usdt {
	const char *provider, *name, *args; /* valid during the callback only */
	uint64_t addr;			    /* this and the next two: as in the note */
	uint64_t base;			    /* of section .stapsdt.base when the note was written */
	uint64_t semaphore;		    /* address of the counter of watchers; 0: none */
};
/* Call @fn with each place of each static probe. Errors as above. */
int elf_file__each_usdt(struct elf_file *f, int (*fn)(const struct elf_usdt *p, void *arg),
			void *arg);
/*
 * Offsets in the file of the probe and of its semaphore, 0 for none. -ENOENT: they are not in
 * code, or not in data.
 */
int elf_file__usdt_offset(const struct elf_file *f, const struct elf_usdt *p, uint64_t *ret,
			  uint64_t *ret_semaphore);

#endif
