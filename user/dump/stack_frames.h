/* SPDX-License-Identifier: GPL-2.0-only */
/* The stacks of triggers, in words: which file, where in it. */
#ifndef FRBPF_DUMP_STACK_FRAMES_H
#define FRBPF_DUMP_STACK_FRAMES_H

#include "dump/incident.h"
#include "sideband/sideband.h"

struct stack_frame {
	uint64_t address;
	char *module;	 /* path of the file, or a name in brackets; NULL: not known. Owned */
	uint64_t offset; /* in the file, bytes; where the module is known */
	char *symbol;	 /* NULL: not known. Owned */
	uint64_t symbol_offset;
};

/* Name the frames of the incident's stacks that have no name yet, as of their triggers' times, from
 * the records that @slice has of their tasks. -ENOMEM leaves some without a name. */
int stack_frames__name(struct incident *inc, const struct sideband_slice *slice);

/* The names of a stack, also without any. */
void stack_frames__free(struct incident_stacks *s);

#endif
