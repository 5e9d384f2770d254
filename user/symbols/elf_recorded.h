/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads symbols from open files, if these are the recorded ones. */
#ifndef FRBPF_SYMBOLS_ELF_RECORDED_H
#define FRBPF_SYMBOLS_ELF_RECORDED_H

#include <sys/stat.h>

#include "perfdata/build_id.h"
#include "symbols/elf_read.h"
#include "symbols/elf_symbols.h"

/* Does the open file have build id @id? An unknown @id (size 0) matches any file. */
bool elf_recorded__has_id(int fd, const struct build_id *id);

/*
 * Replace the symbols of @to by those of its debug file @fd. The segments of @to stay, because
 * debug files have none. False: @fd belongs to another file, or has no symbols.
 */
bool elf_recorded__take_debug(int fd, const struct build_id *id, struct elf_symbols *to);

/* Can only root, or our own user, write to the file? */
bool elf_recorded__is_ours(const struct stat *st);
/*
 * Call @fn for the functions of the debug file @fd, if it has the build id @id. Sets *ret_found if
 * the file has a full symbol table. Errors: as elf_read__functions().
 */
int elf_recorded__each_debug_function(int fd, const struct build_id *id, uint64_t max,
				      elf_function_fn fn, void *arg, bool *ret_found);

/* Read the symbols of the perf-PID.map @fd. 0, -ENOMEM, or the errno of the read. */
int elf_recorded__read_perf_map(int fd, struct symbol_table *ret);

#endif
