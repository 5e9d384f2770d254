/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Call frame information of an ELF file: how to get from the registers in a function to those of its caller. Read by
 * libdw from a copy of .eh_frame. Life: open, step as often as wanted, free. Not locked.
 */
#ifndef FRBPF_SYMBOLS_CFI_H
#define FRBPF_SYMBOLS_CFI_H

#include <stdbool.h>
#include <stdint.h>

#define CFI_REGISTERS 33 /* DWARF's numbers, of both machines; the program counter is beside them */

struct cfi;

/* A frame: where it is, and its registers as far as they are known. */
struct cfi_frame {
	uint64_t pc;
	bool exact; /* pc is where it was interrupted, not where a call returns to */
	uint64_t regs[CFI_REGISTERS];
	uint64_t known; /* bit of each register */
};

/* What is needed of the recorded stack. */
struct cfi_stack {
	const void *data;     /* at any alignment */
	uint64_t start, size; /* address of its first byte; bytes */
};

/* Of the open file @fd, which stays the caller's. 0, -ENOENT (it has none), -ENOEXEC, -ENOMEM. */
int cfi__open(int fd, struct cfi **ret);
void cfi__free(struct cfi *c); /* NULL is legal */

/* The machine, EM_*, that its registers are of. */
unsigned int cfi__machine(const struct cfi *c);

/*
 * Turn @f into the frame of the caller. @offset: of the instruction at f->pc, in the file. Otherwise it is as it was:
 * -ENOENT: nothing is told of that place; -ENODATA: it is the outermost, or its caller is not in what was recorded.
 */
int cfi__step(const struct cfi *c, uint64_t offset, const struct cfi_stack *stack,
	      struct cfi_frame *f);

#endif
