/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is where in the kernel's half of the addresses, as of one moment: its text, modules, BPF
 * programs. Filled from records (apply). Not locked.
 */
#ifndef FRBPF_SYMBOLS_KERNEL_SPACE_H
#define FRBPF_SYMBOLS_KERNEL_SPACE_H

#include <linux/perf_event.h>

#include "symbols/map_list.h"

struct kernel_space { /* { 0 } is an empty one */
	struct map_pool pool;
	struct map_list *maps;
	struct map text; /* of the kernel itself; file NULL: not known */
};

/* Apply an MMAP or MMAP2 of the kernel, or a KSYMBOL, that record__valid() accepted; others are
 * ignored. 0, -ENOMEM, -E2BIG. */
int kernel_space__apply(struct kernel_space *k, const struct perf_event_header *rec);
/* What is at an address: where no map is, the kernel itself, whose map ends before its init text.
 * NULL: nothing is known to be there. */
const struct map *kernel_space__find(const struct kernel_space *k, uint64_t addr);
void kernel_space__free(struct kernel_space *k);

/* The flag in map.flags of what a KSYMBOL named: the name is the symbol's. */
#define KERNEL_SPACE_KSYMBOL 1

/* Is it of the kernel itself, not of a module: "[kernel.kallsyms]_text"? */
bool kernel_space__is_text(const char *map_name);

#endif
