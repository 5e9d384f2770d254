/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Looks: a source scans its pending events, for rules about those (see struct frbpf_look). The
 * thread of the listener runs a look when an event may have reached a threshold, but at most ten
 * times within the lowest threshold. Without such a rule in force there are no looks and no timer.
 */
#ifndef FRBPF_DETECT_LOOK_H
#define FRBPF_DETECT_LOOK_H

#include <linux/types.h>

#include "detect/engine/source.h"

struct look;

/*
 * Create s->look. Call it before rules about pending events are written to @s; calling it again is
 * harmless. 0 or negative errno.
 */
int look__prepare(struct source *s);

/* No look runs between these two, so rules may be written and put in force. NULL is legal. */
void look__pause(struct look *l);
/* Schedules the next look by the rules in force. */
void look__resume(struct look *l);

/* The number of looks that the kernel has refused. For any thread. */
uint64_t look__failed(const struct look *l);

/* Call it before the programs are unloaded. NULL is legal. */
void look__free(struct look *l);

/* ---- the passes of bpf/due.bpf.h, for sources whose pending events are in a table by key ---- */

struct bpf_map;
struct bpf_program;

struct due_look {
	struct bpf_program *collect; /* first pass */
	struct bpf_program *tasks;   /* second pass */
	struct bpf_program *rest;    /* third pass; not loaded: there is none */
	struct bpf_map *due_tasks;
	__u32 *n_due; /* in the memory of the programs */
};

/* Make a look. 0 or negative errno. */
int due_look__make(const struct due_look *l);

#endif
