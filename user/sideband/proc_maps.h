/* SPDX-License-Identifier: GPL-2.0-only */
/* The executable maps of one living process. */
#ifndef FRBPF_SIDEBAND_PROC_MAPS_H
#define FRBPF_SIDEBAND_PROC_MAPS_H

#include "common/buf.h"
#include "symbols/task_model.h"

struct proc_maps {	    /* { 0 } is an empty one, to be used again and again */
	struct task_map *v; /* owned; name is an offset into names until read has returned */
	size_t n, cap;
	struct buf names, text;
	bool no_query; /* the kernel lacks PROCMAP_QUERY (Linux 6.11) */
};

/* Read what process @dir (of /proc) has mapped executable, with the build ids where the kernel tells
 * them. 0 or negative errno: -ESRCH and the like when it is gone. */
int proc_maps__read(struct proc_maps *p, int dir);
void proc_maps__free(struct proc_maps *p);

#endif
