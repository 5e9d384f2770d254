/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions of a file by name. */
#ifndef FRBPF_EXAMINE_FIND_FUNC_H
#define FRBPF_EXAMINE_FIND_FUNC_H

#include "common/demangler.h"
#include "examine/probe/elf_file.h"
#include "examine/probe/func_exits.h"

#define FUNCS_MAX 16 /* of one name in one file */

struct func {
	char *name; /* owned; mangled, if it is */
	uint64_t addr, size;
};

struct funcs { /* { 0 } is an empty one */
	struct func v[FUNCS_MAX];
	uint32_t n;
};

/*
 * Those called @name: as in the file, or with "::" or "(" in it as C++ writes it, with or without
 * the list of parameters. Several are static functions of one name, or, in C++, an error that lists
 * them. @demangler: NULL: there is none. -ENOENT or another negative errno, with words in @err.
 */
int funcs__find(struct elf_file *f, const char *name, const struct demangler *demangler,
		struct funcs *ret, struct err *err);
void funcs__free(struct funcs *funcs);

/* The return instructions of @func. Negative errno with the reason in words in @err. */
int func__exits(struct elf_file *f, const struct func *func, struct func_exits *ret,
		struct err *err);

#endif
