/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the files that have the symbols of user code, where perf looks for them. Each returns NULL,
 * or why there are no symbols: a static text that completes "FILE: ". */
#ifndef FRBPF_SYMBOLS_MODULE_FILES_H
#define FRBPF_SYMBOLS_MODULE_FILES_H

#include "perfdata/build_id.h"
#include "symbols/cfi.h"
#include "symbols/elf_symbols.h"

/*
 * Of the file at @path, of build id @id (size 0: not known), that @pid had mapped from @start to @end: the
 * file as seen by @pid if that still lives, what it has mapped there (a deleted file, too), as seen by us, or perf's copy in ~/.debug; and of debug files, in
 * ~/.debug, /usr/lib/debug/.build-id or as its .gnu_debuglink says, where the file itself has only
 * dynamic symbols. A file of another build id is passed over.
 */
const char *module_files__read(const char *path, const struct build_id *id, uint32_t pid,
			       uint64_t start, uint64_t end, struct elf_symbols *ret);

/* Of the vDSO: the one that we run with, if @id is its build id or that of our kernel, or a kept one. */
const char *module_files__read_vdso(const struct build_id *id, struct elf_symbols *ret);

/* How to unwind out of the same files; NULL: it is not here, or does not tell. The caller's. */
struct cfi *module_files__cfi(const char *path, const struct build_id *id, uint32_t pid,
			      uint64_t start, uint64_t end);
struct cfi *module_files__vdso_cfi(const struct build_id *id);

/* From the perf-PID.map of the process: one that root, we or its own user wrote. */
const char *module_files__read_perf_map(uint32_t pid, struct symbol_table *ret);

#endif
