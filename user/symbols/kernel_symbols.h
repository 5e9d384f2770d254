/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the symbols of the kernel and its modules. If another kernel was recorded, its symbols come
 * from the kallsyms that perf kept in ~/.debug. Modules must be loaded now, in the recorded build.
 * The read functions return NULL, or a static text that says why there are no symbols. *ret_delta
 * is to be added to recorded addresses, as they differ per boot.
 */
#ifndef FRBPF_SYMBOLS_KERNEL_SYMBOLS_H
#define FRBPF_SYMBOLS_KERNEL_SYMBOLS_H

#include "common/err.h"
#include "perfdata/build_id.h"
#include "symbols/symbol_table.h"

/* @text: address of _text in the recorded kernel; 0: hidden. @id: its build id; size 0: unknown,
 * then the running kernel is taken if its _text has the same address. */
const char *kernel_symbols__read(uint64_t text, const struct build_id *id, struct symbol_table *ret,
				 uint64_t *ret_delta);

/* @name: "[NAME]". @start: recorded address of the module. */
const char *kernel_symbols__read_module(const char *name, uint64_t start, const struct build_id *id,
					struct symbol_table *ret, uint64_t *ret_delta);

/* Read the symbols of the running kernel and its modules, but only those at @addrs. */
const char *kernel_symbols__read_running(const uint64_t *addrs, size_t n, struct symbol_table *ret);

/*
 * Save the symbols of the running kernel where perf on another machine looks for them. Copies
 * /proc/kallsyms into the directory @dir, which is created if needed, in the layout of perf's
 * build-id cache (tools/perf/util/build-id.c): [kernel.kallsyms]/ID/kallsyms and a link
 * .build-id/ID. -EINVAL: @id is of another kernel; -EACCES: this user sees no addresses; else the
 * errno of the write. A message is in @err.
 */
int kallsyms_cache__write(const char *dir, const struct build_id *id, struct err *err);

#endif
