/* SPDX-License-Identifier: GPL-2.0-only */
/* Symbols from open files, if they are those that were recorded. */
#ifndef FRBPF_SYMBOLS_ELF_FILES_H
#define FRBPF_SYMBOLS_ELF_FILES_H

#include <sys/stat.h>

#include "perfdata/build_id.h"
#include "symbols/elf_read.h"
#include "symbols/elf_symbols.h"

/* Is the open file of that build id? What is not known (size 0) is believed. */
bool elf_files__has_id(int fd, const struct build_id *id);

/* Take the symbols of a file with debug information of @to: where they are mapped only @to tells. False: it is of
 * another file, or has none. */
bool elf_files__take_debug(int fd, const struct build_id *id, struct elf_symbols *to);

/* May only root, or the user we are, write to it? */
bool elf_files__is_ours(const struct stat *st);
/*
 * Functions of the open debug file @fd, if it has the build id @id. *@ret_found becomes true then. As
 * elf_read__functions().
 */
int elf_files__each_debug_function(int fd, const struct build_id *id, uint64_t max,
				   elf_function_fn fn, void *arg, bool *ret_found);

/* Symbols from the open perf-PID.map: 0, -ENOMEM, or why it cannot be read. */
int elf_files__read_perf_map(int fd, struct symbol_table *ret);

#endif
