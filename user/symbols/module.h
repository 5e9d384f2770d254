/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Something mapped: a file, the vDSO, JIT code, the kernel, one of its modules. The source of its
 * symbols depends on the kind; they are read on first use. A file whose build id is not the
 * recorded one gives no symbols.
 */
#ifndef FRBPF_SYMBOLS_MODULE_H
#define FRBPF_SYMBOLS_MODULE_H

#include "perfdata/build_id.h"
#include "symbols/cfi.h"
#include "symbols/elf_symbols.h"
#include "symbols/map_list.h"

enum module_kind {
	MODULE_FILE,
	MODULE_VDSO,
	MODULE_ANON,  /* JIT code: /tmp/perf-PID.map may name it */
	MODULE_OTHER, /* [stack], [heap], a device ... */
	MODULE_KERNEL,
	MODULE_KERNEL_MODULE,
	MODULE_KSYMBOL, /* a BPF program or trampoline, which is its own only symbol */
};

struct module {
	enum module_kind kind;
	const char *path; /* as mapped */
	/* to display, the same on any machine: "libc.so.6", "[kernel]", "[jit]" */
	const char *name;
	struct build_id id;
	uint32_t pid; /* a process that mapped it */

	/* If only_wanted, all that will be looked up: offsets in ELF files, else addresses */
	uint64_t *wanted; /* owned, until the symbols are loaded */
	size_t n_wanted;
	bool only_wanted;

	bool loaded;
	struct elf_symbols symbols;
	/* MODULE_KERNEL*: add it to an address before the lookup in the table */
	uint64_t delta;
	bool cfi_asked;
	struct cfi *cfi; /* owned; NULL: it has none */
	/* why it has no symbols, a static text; NULL: it has some */
	const char *why_not;
	char *owned; /* storage of path and name */
};

/* The kind of a user-space map, from its name. */
enum module_kind module__user_kind(const char *map_name);

/* 0 or -ENOMEM. */
int module__init(struct module *m, enum module_kind kind, const char *path,
		 const struct build_id *id, uint32_t pid);
void module__free(struct module *m);

/*
 * Announce that @addr, in @map, will be looked up. Call it before any find; then only announced
 * addresses have symbols. 0 or -ENOMEM.
 */
int module__want(struct module *m, const struct map *map, uint64_t addr);

/* Find the symbol at @addr, in @map, which is a map of @m. *ret_offset: bytes from its start. The
 * first call reads the symbols. NULL: unknown. */
const struct symbol *module__find(struct module *m, const struct map *map, uint64_t addr,
				  uint64_t *ret_offset);

/* Call frame information, borrowed; @map is a map of @m. The first call reads it. NULL: none. */
const struct cfi *module__cfi(struct module *m, const struct map *map);

/* ---- its files ----
 * Finds files with the symbols of user code, where perf looks for them. The read functions return
 * NULL, or why there are no symbols: a static text that completes "FILE: ". */

/*
 * Read the symbols of the file at @path with build id @id (size 0: unknown), which @pid mapped from
 * @start to @end. For the candidates see file_search__mapped(). If the file has no full symbol
 * table, its debug file is read, too: from ~/.debug, /usr/lib/debug/.build-id, or by its
 * .gnu_debuglink. Files with another build id are skipped.
 */
const char *module_files__read(const char *path, const struct build_id *id, uint32_t pid,
			       uint64_t start, uint64_t end, struct elf_symbols *ret);

/* Read the symbols of the vDSO with build id @id, see file_search__vdso(). */
const char *module_files__read_vdso(const struct build_id *id, struct elf_symbols *ret);

/* Call frame information of the same files; the caller frees it. NULL: no file, or it has none. */
struct cfi *module_files__cfi(const char *path, const struct build_id *id, uint32_t pid,
			      uint64_t start, uint64_t end);
struct cfi *module_files__vdso_cfi(const struct build_id *id);

/* Read the perf-PID.map of the process, if root, we, or its own user wrote it. */
const char *module_files__read_perf_map(uint32_t pid, struct symbol_table *ret);

#endif
