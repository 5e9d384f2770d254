/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The modules of the kernel.
 *
 * The list is read on each request, but parsed only if it has changed. Windows may reach back to an
 * unloaded module, so a module is kept until another one takes its name or addresses. Locks itself.
 * Life: init, current as often as needed, free.
 */
#ifndef FRBPF_SIDEBAND_KERNEL_MODULES_H
#define FRBPF_SIDEBAND_KERNEL_MODULES_H

#include <pthread.h>

#include "common/buf.h"
#include "sideband/kernel_maps.h"

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
