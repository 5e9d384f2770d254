/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an address was: module, place in it, symbol. The maps come from a task model and a kernel
 * space, which a replayed file or the living system fills; the files' symbols are read when first
 * needed and kept, for all spaces. Life: new, resolve as often as wanted, free. Who wants a few
 * addresses named, and little memory taken, announces them first (expect). Not locked.
 */
#ifndef FRBPF_SYMBOLS_SYMBOLS_H
#define FRBPF_SYMBOLS_SYMBOLS_H

#include "symbols/cfi.h"
#include "symbols/task_model.h"
#include "symbols/kernel_space.h"

struct symbols;

struct location {
	const char
		*module; /* "libc.so.6", "[kernel]", "[vdso]", "[jit]", "[unknown]": no map there */
	const char *path;   /* as mapped; NULL: no map */
	uint64_t offset;    /* in the module's file; in memory for kernel, made code and no map */
	const char *symbol; /* NULL: not known */
	uint64_t symbol_offset; /* bytes from its start */
	bool kernel;
};

int symbols__new(struct symbols **ret); /* -ENOMEM */
void symbols__free(struct symbols *s);	/* NULL is legal */

/* Before any resolve: the modules of announced addresses keep names of these alone, and the kernel is
 * the running one. Arguments and errors as below. */
int symbols__expect(struct symbols *s, const struct task_model *tasks,
		    const struct kernel_space *kernel_maps, uint32_t pid, uint64_t addr,
		    bool kernel);

/*
 * What @pid had at @addr by these maps; @kernel: it ran in kernel mode. The texts in @ret live as
 * long as @s. 0 or -ENOMEM.
 */
int symbols__resolve(struct symbols *s, const struct task_model *tasks,
		     const struct kernel_space *kernel_maps, uint32_t pid, uint64_t addr,
		     bool kernel, struct location *ret);

/* How to unwind out of the function that @pid had at @addr. *@ret_offset: of @addr in its file. NULL: nobody tells. Lives
 * as long as @s. */
const struct cfi *symbols__cfi(struct symbols *s, const struct task_model *tasks,
			       const struct kernel_space *kernel_maps, uint32_t pid, uint64_t addr,
			       uint64_t *ret_offset);

/* Where the names are of what a user map of this name shows. */
enum symbols_source { SYMBOLS_FILE, SYMBOLS_VDSO, SYMBOLS_PERF_MAP, SYMBOLS_NOWHERE };
enum symbols_source symbols__source(const char *map_name);

/* Modules that were asked for and have no symbols, until @fn returns non-zero, which is returned. */
int symbols__each_missing(const struct symbols *s,
			  int (*fn)(const char *path, const char *why, void *arg), void *arg);

#endif
