/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Call frame information of an ELF file: computes the registers of a caller from the registers of
 * its callee. libdw reads it from a copy of .eh_frame. Life: open, step as often as needed, free.
 * Not locked.
 */
#ifndef FRBPF_SYMBOLS_CFI_H
#define FRBPF_SYMBOLS_CFI_H

#include <stdbool.h>
#include <stdint.h>

#define CFI_REGISTERS 33 /* by DWARF's numbers, on both machines; without the program counter */

struct cfi;

/* A frame: its program counter and known registers. */
struct cfi_frame {
	uint64_t pc;
	bool exact; /* pc is the interrupted instruction, not a return address */
	uint64_t regs[CFI_REGISTERS];
	uint64_t known; /* bit N: regs[N] is known */
};

/* The recorded part of the stack. Borrowed. */
struct cfi_stack {
	const void *data;     /* at any alignment */
	uint64_t start, size; /* address of the first byte; number of bytes */
};

/*
 * Read the call frame information of the file @fd, which the caller closes; the caller frees *ret.
 * -ENOENT: the file has none; -ENOEXEC, -ENOMEM, or the errno of the copy.
 */
int cfi__open(int fd, struct cfi **ret);
void cfi__free(struct cfi *c); /* NULL is legal */

/* The file's machine, EM_*. */
unsigned int cfi__machine(const struct cfi *c);

/*
 * Turn @f into the caller's frame. @offset: of the instruction at f->pc in the file, in bytes.
 * After an error @f is unchanged. -ENOENT: there is no information for this code; -ENODATA: @f is
 * the outermost frame, or the recorded stack is too short.
 */
int cfi__step(const struct cfi *c, uint64_t offset, const struct cfi_stack *stack,
	      struct cfi_frame *f);

#endif
