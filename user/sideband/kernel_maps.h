/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Maps of the kernel's text and of its modules. The kernel writes no records of code that existed
 * before the recording: kernel_images.h and kernel_modules.h find it.
 */
#ifndef FRBPF_SIDEBAND_KERNEL_MAPS_H
#define FRBPF_SIDEBAND_KERNEL_MAPS_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "perfdata/build_id.h"

struct kernel_map {
	uint64_t start, len, pgoff; /* bytes; for the kernel, pgoff is start: readers undo KASLR */
	char *name; /* "[kernel.kallsyms]_text", path of a module's file, or "[module]"; owned */
	struct build_id id; /* of a module; size 0: none */
};

struct kernel_maps {	      /* { 0 } is an empty one */
	struct kernel_map *v; /* owned */
	size_t n;
};

/* Add a copy of @map. 0 or -ENOMEM. */
int kernel_maps__add(struct kernel_maps *k, const struct kernel_map *map);
void kernel_maps__free(struct kernel_maps *k);

/* Append all maps to @out, as MMAP records at @time (ns). 0 or -ENOMEM. */
int kernel_maps__emit(const struct kernel_maps *k, uint64_t time, struct buf *out);

#endif
