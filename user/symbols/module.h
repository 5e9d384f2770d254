/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Something that is mapped: a file, the vDSO, code that a program made itself, the kernel, one of
 * its modules. Where its symbols come from depends on the kind; they are read when first asked for.
 * Files that are not those that were recorded (another build id) give none.
 */
#ifndef FRBPF_SYMBOLS_MODULE_H
#define FRBPF_SYMBOLS_MODULE_H

#include "symbols/cfi.h"
#include "symbols/map_list.h"
#include "symbols/elf_symbols.h"

enum module_kind {
	MODULE_FILE,
	MODULE_VDSO,
	MODULE_ANON,  /* made code: /tmp/perf-PID.map may name it */
	MODULE_OTHER, /* [stack], [heap], a device ... */
	MODULE_KERNEL,
	MODULE_KERNEL_MODULE,
	MODULE_KSYMBOL, /* a BPF program or trampoline: it is its only symbol */
};

struct module {
	enum module_kind kind;
	const char *path; /* as mapped */
	const char
		*name; /* for people, the same on any machine: "libc.so.6", "[kernel]", "[jit]" */
	struct build_id id;
	uint32_t pid; /* who mapped it: some process that did */

	/* What will be asked for, where nothing else is: offsets in the file, addresses of others */
	uint64_t *wanted; /* owned, until it is loaded */
	size_t n_wanted;
	bool only_wanted;

	bool loaded;
	struct elf_symbols symbols;
	/* to be added to an address for one of the table: of MODULE_KERNEL* */
	uint64_t delta;
	bool cfi_asked;
	struct cfi *cfi; /* NULL: it has none */
	/* why there are none, a static text; NULL: there are */
	const char *why_not;
	char *owned; /* storage of path and name */
};

/* The kind of a user map by its name. */
enum module_kind module__user_kind(const char *map_name);

/* 0 or -ENOMEM. */
int module__init(struct module *m, enum module_kind kind, const char *path,
		 const struct build_id *id, uint32_t pid);
void module__free(struct module *m);

/* Before anything is found: @addr, which @map is the map of, will be asked for, and nothing that was not
 * announced. 0 or -ENOMEM. */
int module__want(struct module *m, const struct map *map, uint64_t addr);

/* The symbol at @addr, of which @map is the map of @m, and how many bytes into it that is. Reads what
 * is needed the first time. NULL: none is known. */
const struct symbol *module__find(struct module *m, const struct map *map, uint64_t addr,
				  uint64_t *ret_offset);

/* How to unwind out of it; @map is a map of @m. Read the first time. NULL: it does not tell. */
const struct cfi *module__cfi(struct module *m, const struct map *map);

#endif
