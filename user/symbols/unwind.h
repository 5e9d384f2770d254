/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frames of user space out of registers and a copy of the stack's top, as --call-graph dwarf records them: by the call
 * frame information of the files; by frame pointers where a function has none.
 */
#ifndef FRBPF_SYMBOLS_UNWIND_H
#define FRBPF_SYMBOLS_UNWIND_H

#include "symbols/symbols.h"

/* What a sample has of user space. Borrowed. */
struct unwind_state {
	const char *arch; /* "x86_64", "aarch64", as uname -m says; NULL: of this machine */
	const void *regs; /* 8 bytes for each bit of @regs_mask, in the order of perf_regs.h */
	uint64_t regs_mask;
	const void *stack;   /* from the stack pointer on */
	uint64_t stack_size; /* bytes */
};

/*
 * The innermost is the first of the at most @max addresses in @ips; those behind it point into the call. The returned
 * number is 0 where there are no registers, or where they are of a machine that is not known.
 */
size_t unwind__frames(struct symbols *s, const struct task_model *tasks,
		      const struct kernel_space *kernel_maps, uint32_t pid,
		      const struct unwind_state *state, uint64_t *ips, size_t max);

#endif
