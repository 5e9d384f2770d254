/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The maps of the kernel's address space at one moment: its text, modules, BPF programs. Filled
 * from records (apply). Not locked.
 */
#ifndef FRBPF_SYMBOLS_KERNEL_SPACE_H
#define FRBPF_SYMBOLS_KERNEL_SPACE_H

#include <linux/perf_event.h>

#include "symbols/map_list.h"

struct kernel_space { /* { 0 } is an empty one */
	struct map_pool pool;
	struct map_list *maps;
	struct map text; /* of the kernel itself; file NULL: unknown */
};

/* Apply an MMAP or MMAP2 of the kernel, or a KSYMBOL, that record__valid() accepted; others are
 * ignored. 0, -ENOMEM, -E2BIG. */
int kernel_space__apply(struct kernel_space *k, const struct perf_event_header *rec);
/*
 * Find the map at @addr. An address above the kernel's start and in no map counts as the kernel's,
 * because the kernel's map ends before its init text. NULL: unknown.
 */
const struct map *kernel_space__find(const struct kernel_space *k, uint64_t addr);
void kernel_space__free(struct kernel_space *k);

/* Flag in map.flags: the map is from a KSYMBOL record, and its name is that of the symbol. */
#define KERNEL_SPACE_KSYMBOL 1

/* Does the name, such as "[kernel.kallsyms]_text", mean the kernel itself, not a module? */
bool kernel_space__is_text(const char *map_name);

#endif
