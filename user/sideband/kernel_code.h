/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the kernel's code is: its text, its modules, and the code that it made at run time. The
 * kernel writes no records of code that existed before the recording.
 */
#ifndef FRBPF_SIDEBAND_KERNEL_CODE_H
#define FRBPF_SIDEBAND_KERNEL_CODE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "perfdata/build_id.h"
#include "symbols/kernel_state.h"

/* A map of the kernel's text, or of a module. */
struct kernel_map {
	uint64_t start, len, pgoff; /* bytes; for the kernel, pgoff is start: readers undo KASLR */
	char *name; /* "[kernel.kallsyms]_text", path of a module's file, or "[module]"; owned */
	struct build_id id; /* of a module; size 0: none */
};

struct kernel_maps {	      /* { 0 } is an empty one */
	struct kernel_map *v; /* owned */
	size_t n;
};

void kernel_maps__free(struct kernel_maps *k);

/* Append all maps to @out, as MMAP records at @time (ns). 0 or -ENOMEM. */
int kernel_maps__emit(const struct kernel_maps *k, uint64_t time, struct buf *out);

/*
 * Add to @k the symbols of code that was made at run time: BPF trampolines, dispatchers and
 * struct_ops functions, ftrace trampolines and kprobe pages; bpf_info.h reads BPF programs. Add the
 * kernel's text to @text, unless @text is NULL.
 *
 * Only kallsyms tells where this code is: KSYMBOL records exist only for code made after recording
 * began. @path: NULL for /proc/kallsyms. kallsyms has no sizes: a symbol's length is one page, or
 * less if the next one is nearer. Adds nothing if there is no such file, or addresses are hidden
 * (kernel.kptr_restrict). 0 or -ENOMEM.
 */
int kernel_images__read(const char *path, struct kernel_state *k, struct kernel_maps *text);

/*
 * The modules of the kernel.
 *
 * The list is read on each request, but parsed only if it has changed. Windows may reach back to an
 * unloaded module, so a module is kept until another one takes its name or addresses. Locks itself.
 * Life: init, current as often as needed, free.
 */
struct kernel_modules {
	pthread_mutex_t lock;
	const char *list; /* "/proc/modules"; borrowed */
	char root[128];	  /* directory of the modules' files: /lib/modules/RELEASE */
	struct buf text;  /* the list that was parsed last */
	struct kernel_maps maps;
};

/* @list is borrowed; @list and @root NULL: those of the running kernel. */
void kernel_modules__init(struct kernel_modules *m, const char *list, const char *root);
/*
 * Add a copy of the modules to @ret, which the caller frees. Adds none if there are no modules, or
 * addresses are hidden. 0 or -ENOMEM.
 */
int kernel_modules__current(struct kernel_modules *m, struct kernel_maps *ret);
void kernel_modules__free(struct kernel_modules *m);

#endif
