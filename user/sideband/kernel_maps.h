/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the kernel's text (kernel_images.h) and its modules (kernel_modules.h) are. The kernel writes no
 * record of either. */
#ifndef FRBPF_RECORD_KERNEL_MAPS_H
#define FRBPF_RECORD_KERNEL_MAPS_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "perfdata/build_id.h"

struct kernel_map {
	uint64_t start, len,
		pgoff; /* bytes; pgoff of the kernel is its start: how readers undo KASLR */
	char *name;    /* "[kernel.kallsyms]_text", path of a module's file, or "[module]"; owned */
	struct build_id id; /* of a module, where it has one */
};

struct kernel_maps {	      /* { 0 } is an empty one */
	struct kernel_map *v; /* owned */
	size_t n;
};

/* Add a copy. 0 or -ENOMEM. */
int kernel_maps__add(struct kernel_maps *k, const struct kernel_map *map);
void kernel_maps__free(struct kernel_maps *k);

/* Append them as MMAP records at @time. 0 or -ENOMEM. */
int kernel_maps__emit(const struct kernel_maps *k, uint64_t time, struct buf *out);

#endif
