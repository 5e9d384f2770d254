/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds functions of a file by name. */
#ifndef FRBPF_EXAMINE_FIND_FUNC_H
#define FRBPF_EXAMINE_FIND_FUNC_H

#include "examine/probe/elf_file.h"
#include "examine/probe/func_exits.h"
#include "symbols/demangle.h"

#define FUNCS_MAX 16 /* functions of one name in one file */

struct func {
	char *name; /* owned; mangled for C++ */
	uint64_t addr, size;
};

struct funcs { /* { 0 } is an empty one */
	struct func v[FUNCS_MAX];
	uint32_t n;
};

/*
 * Find the functions called @name, as in the symbol table. With "::" or "(" it is a C++ name, with
 * or without parameters. Static functions may share a name, so several can be found; for C++ names
 * that is an error, which lists them. @demangler may be NULL. -ENOENT or another negative errno,
 * with a message in @err.
 */
int funcs__find(struct elf_file *f, const char *name, const struct demangler *demangler,
		struct funcs *ret, struct err *err);
void funcs__free(struct funcs *funcs);

/* Find the return instructions of @func. Negative errno, with a message in @err. */
int func__exits(struct elf_file *f, const struct func *func, struct func_exits *ret,
		struct err *err);

#endif
