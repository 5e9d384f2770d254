/* SPDX-License-Identifier: GPL-2.0-only */
/* The stacks of triggers, in words: which file, where in it, which function. */
#ifndef FRBPF_DUMP_INCIDENT_STACK_FRAMES_H
#define FRBPF_DUMP_INCIDENT_STACK_FRAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "dump/incident/incident.h"
#include "sideband/sideband.h"

struct stack_frame {
	uint64_t address;
	char *module;	 /* path of the file, or a name in brackets; NULL: not known. Owned */
	uint64_t offset; /* in the file; of the kernel in memory, from its start. Bytes, where the
			    module is known */
	char *symbol;	 /* NULL: not known. Owned */
	uint64_t symbol_offset;
};

/*
 * Name the kernel's part of the incident's stacks, where that is not done, from what @slice has of the
 * kernel and from kallsyms, which is read once; then leave out what is our own of it: programs that
 * measured, and what called them. The caller holds inc->name_lock. -ENOMEM leaves some without a
 * name.
 */
int stack_frames__name_kernel(struct incident *inc, const struct sideband_slice *slice);

/*
 * Tell which files the user's part of those is in that nobody has looked at yet, as of their triggers' times, from the
 * records that @slice has of their tasks; and note in inc->names which functions are to be asked for. No file is
 * opened. This takes inc->name_lock for moments only. -ENOMEM leaves some without a name.
 */
int stack_frames__locate_user(struct incident *inc, const struct sideband_slice *slice);

/* The function of a frame that has none yet: @symbol_offset is that of @at, the address that was asked for. 0 or
 * -ENOMEM. */
int stack_frames__set_user(struct incident *inc, size_t stack, size_t frame, const char *symbol,
			   uint64_t symbol_offset, uint64_t at);

/* The names of a stack, also without any. */
void stack_frames__free(struct incident_stacks *s);

/* Which frames of a kernel stack are there only because we looked. */
struct own_frame {
	const char *symbol; /* NULL: not known */
	bool is_bpf;	    /* a BPF program or a trampoline */
};

/*
 * How many of the innermost frames of @v, which begins with the innermost, belong to the program that
 * took the stack: the helper that it called, the program, and what calls it at its tracepoint or
 * probe. 0: the stack is of a task that did not run.
 */
size_t own_frames__count(const struct own_frame *v, size_t n);

#endif
