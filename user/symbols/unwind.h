/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Unwinds user space from registers and a copy of the top of the stack, as recorded by --call-graph
 * dwarf. Uses the call frame information of the files, or frame pointers if a function has none.
 */
#ifndef FRBPF_SYMBOLS_UNWIND_H
#define FRBPF_SYMBOLS_UNWIND_H

#include "symbols/symbols.h"

/* The user-space state in a sample. Borrowed. */
struct unwind_state {
	const char *arch; /* "x86_64", "aarch64", as from uname -m; NULL: this machine's */
	const void *regs; /* 8 bytes for each bit of @regs_mask, in the order of perf_regs.h */
	uint64_t regs_mask;
	const void *stack;   /* from the stack pointer on */
	uint64_t stack_size; /* bytes */
};

/*
 * Write at most @max addresses to @ips, innermost first; all but the first point into call
 * instructions. Returns their number; 0: no registers, or an unknown machine.
 */
size_t unwind__frames(struct symbols *s, const struct task_model *tasks,
		      const struct kernel_space *kernel_maps, uint32_t pid,
		      const struct unwind_state *state, uint64_t *ips, size_t max);

#endif
