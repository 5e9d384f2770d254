/* SPDX-License-Identifier: GPL-2.0-only */
/* Looks of sources whose pending events are in a table by key: the passes of bpf/due.bpf.h. */
#ifndef FRBPF_DETECT_DUE_LOOK_H
#define FRBPF_DETECT_DUE_LOOK_H

#include <linux/types.h>

struct bpf_map;
struct bpf_program;

struct due_look {
	struct bpf_program *collect; /* first pass, over the map `table_fd` */
	int table_fd;
	struct bpf_program *tasks; /* second pass */
	struct bpf_program *rest;  /* third pass; not loaded: there is none */
	struct bpf_map *due_tasks;
	__u32 *n_due; /* in the memory of the programs */
};

/* Make a look. 0 or negative errno. */
int due_look__make(const struct due_look *l);

#endif
