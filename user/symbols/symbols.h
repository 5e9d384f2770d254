/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Resolves addresses to module, offset and symbol. The maps come from a task model and a kernel
 * space, filled from a recording or the running system. Symbols of a file are read on first use and
 * kept. Life: new, resolve as often as needed, free. To save memory, a caller that resolves only a
 * few addresses announces them first (expect). Not locked.
 */
#ifndef FRBPF_SYMBOLS_SYMBOLS_H
#define FRBPF_SYMBOLS_SYMBOLS_H

#include "common/buf.h"
#include "symbols/cfi.h"
#include "symbols/task_model.h"
#include "symbols/kernel_space.h"

struct symbols;

struct location {
	/* "libc.so.6", "[kernel]", "[vdso]", "[jit]"; "[unknown]" if there is no map */
	const char *module;
	const char *path;   /* as mapped; NULL: no map */
	uint64_t offset;    /* in the module's file; the address for kernel, JIT code and no map */
	const char *symbol; /* NULL: unknown */
	uint64_t symbol_offset; /* bytes from its start */
	bool kernel;
};

int symbols__new(struct symbols **ret); /* -ENOMEM */
void symbols__free(struct symbols *s);	/* NULL is legal */

/* Announce an address, before any resolve. Modules then keep only the symbols of announced
 * addresses. Kernel addresses must be of the running kernel. Arguments and errors as below. */
int symbols__expect(struct symbols *s, const struct task_model *tasks,
		    const struct kernel_space *kernel_maps, uint32_t pid, uint64_t addr,
		    bool kernel);

/*
 * Take the symbols of the kernel and its modules only from @kallsyms: text in the format of
 * /proc/kallsyms, with the recorded addresses. Call it before any resolve. 0 or -ENOMEM.
 */
int symbols__use_kernel(struct symbols *s, const struct buf *kallsyms);

/*
 * Resolve @addr of process @pid, by these maps; @kernel: it is an address of the kernel. The texts
 * in @ret live as long as @s. 0 or -ENOMEM.
 */
int symbols__resolve(struct symbols *s, const struct task_model *tasks,
		     const struct kernel_space *kernel_maps, uint32_t pid, uint64_t addr,
		     bool kernel, struct location *ret);

/* Get the call frame information for @addr of process @pid; it lives as long as @s. *ret_offset:
 * @addr as an offset in its file. NULL: none. */
const struct cfi *symbols__cfi(struct symbols *s, const struct task_model *tasks,
			       const struct kernel_space *kernel_maps, uint32_t pid, uint64_t addr,
			       uint64_t *ret_offset);

/* Where the symbols of a user-space map with this name come from. */
enum symbols_source { SYMBOLS_FILE, SYMBOLS_VDSO, SYMBOLS_PERF_MAP, SYMBOLS_NOWHERE };
enum symbols_source symbols__source(const char *map_name);

/* Call @fn for each used module without symbols, until it returns non-zero, which is returned.
 * @why: a static text. */
int symbols__each_missing(const struct symbols *s,
			  int (*fn)(const char *path, const char *why, void *arg), void *arg);

/*
 * Is the kernel function on a stack only because of tracing: between a tracepoint or probe and its
 * perf event or BPF program? @symbol NULL: unknown, which gives false.
 */
bool symbols__is_tracing(const char *symbol);

#endif
