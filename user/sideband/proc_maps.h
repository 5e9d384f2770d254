/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the maps of one living process from /proc. */
#ifndef FRBPF_SIDEBAND_PROC_MAPS_H
#define FRBPF_SIDEBAND_PROC_MAPS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"
#include "symbols/task_model.h"

struct proc_maps {	    /* { 0 } is an empty one; reusable */
	struct task_map *v; /* owned; the names point into names */
	size_t n, cap;
	struct buf names, text;
	bool data;     /* set by the caller: maps that are not executable, too */
	bool no_query; /* the kernel lacks PROCMAP_QUERY (Linux 6.11) */
};

/*
 * Read the maps of the process whose directory in /proc is @dir. Build ids are set if the
 * kernel gives them. 0 or negative errno: -ESRCH and the like if the process is gone.
 */
int proc_maps__read(struct proc_maps *p, int dir);
void proc_maps__free(struct proc_maps *p);

#endif
