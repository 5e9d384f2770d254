/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's modules, of which it writes no record: read whenever somebody asks, parsed only when
 * the list has changed. A module that has gone stays until another takes its name or addresses, for
 * the windows that reach back to it. Locks itself. Life: init, current as often as needed, free.
 */
#ifndef FRBPF_SIDEBAND_KERNEL_MODULES_H
#define FRBPF_SIDEBAND_KERNEL_MODULES_H

#include <pthread.h>

#include "sideband/kernel_maps.h"

struct kernel_modules {
	pthread_mutex_t lock;
	const char *list; /* "/proc/modules"; borrowed */
	char root[128];	  /* of the modules' files: /lib/modules/RELEASE */
	struct buf text;  /* the list as it was parsed */
	struct kernel_maps maps;
};

/* @list and @root NULL: those of the running kernel. */
void kernel_modules__init(struct kernel_modules *m, const char *list, const char *root);
/* A copy that the caller frees. Without modules, or with hidden addresses, it is empty. 0 or
 * -ENOMEM. */
int kernel_modules__current(struct kernel_modules *m, struct kernel_maps *ret);
void kernel_modules__free(struct kernel_modules *m);

#endif
