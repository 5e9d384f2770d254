/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds files with the symbols of user code, where perf looks for them. The read functions return
 * NULL, or why there are no symbols: a static text that completes "FILE: ". */
#ifndef FRBPF_SYMBOLS_MODULE_FILES_H
#define FRBPF_SYMBOLS_MODULE_FILES_H

#include "perfdata/build_id.h"
#include "symbols/cfi.h"
#include "symbols/elf_symbols.h"

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
