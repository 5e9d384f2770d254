/* SPDX-License-Identifier: GPL-2.0-only */
/* Names for the stacks of triggers: file, offset and function. */
#ifndef FRBPF_DUMP_INCIDENT_STACK_FRAMES_H
#define FRBPF_DUMP_INCIDENT_STACK_FRAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "dump/incident/incident.h"
#include "sideband/sideband.h"

struct stack_frame {
	uint64_t address;
	char *module;	 /* path of the file, or a name in brackets; NULL: not known. Owned */
	uint64_t offset; /* bytes in the file; of the kernel, from its start in memory. Only with a
			    module */
	char *symbol;	 /* NULL: unknown. Owned */
	uint64_t symbol_offset;
};

/*
 * Name the kernel part of the incident's stacks, if that is not done. Uses the kernel's maps in
 * @slice, and kallsyms, which is read once. Then drops frbpf's own frames: programs that measured,
 * and their callers. The caller holds inc->name_lock. 0; -ENOMEM: some frames have no name.
 */
int stack_frames__name_kernel(struct incident *inc, const struct sideband_slice *slice);

/*
 * Find the files of user frames that were not looked up yet. Uses the records of their tasks in
 * @slice, up to the times of their triggers. Adds the functions to look up to inc->names. Opens no
 * file. Takes inc->name_lock, briefly. 0; -ENOMEM: some frames have no name.
 */
int stack_frames__locate_user(struct incident *inc, const struct sideband_slice *slice);

/*
 * Set the function of a frame that has none yet. @symbol_offset is the offset of @at, the address
 * that was looked up. 0 or -ENOMEM.
 */
int stack_frames__set_user(struct incident *inc, size_t stack, size_t frame, const char *symbol,
			   uint64_t symbol_offset, uint64_t at);

/* Free the names of a stack, if it has any. */
void stack_frames__free(struct incident_stacks *s);

/* A frame of a kernel stack, to find those that exist only because we measured. */
struct own_frame {
	const char *symbol; /* NULL: unknown */
	bool is_bpf;	    /* a BPF program or a trampoline */
};

/*
 * Number of frames of @v, innermost first, that belong to the program that took the stack: its
 * helper, the program, and its callers at the tracepoint or probe. 0: the stack is that of a task
 * that did not run.
 */
size_t own_frames__count(const struct own_frame *v, size_t n);

#endif
