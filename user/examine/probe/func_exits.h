/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the return instructions of a function, which get a probe each. Return probes are not used:
 * they replace the return address on the stack by one of the kernel's, and an exception that
 * unwinds through that ends the program. A file does not tell whether a callee of the function
 * throws.
 */
#ifndef FRBPF_EXAMINE_FUNC_EXITS_H
#define FRBPF_EXAMINE_FUNC_EXITS_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* e_machine of programs that can be probed on this machine. */
#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#error "no uprobes for this architecture"
#endif

#define FUNC_EXITS_MAX 64

struct func_exits {
	uint64_t at[FUNC_EXITS_MAX]; /* addresses of return instructions */
	uint32_t n;
	uint32_t jumps;	   /* tail calls: jumps to another function */
	uint64_t jump_to;  /* target of the first tail call */
	uint32_t indirect; /* indirect jumps: their targets are unknown */
};

/* A part of a function: the main one, or a cold part placed elsewhere. */
struct func_part {
	uint64_t addr, size;
	const uint8_t *code;
};

/*
 * Find the exits of a function. @parts: its main part, then the others; @machine: EM_X86_64 or
 * EM_AARCH64. A probe in data among the code would change the data. So only those instructions
 * count to which the first one leads directly. @hidden: the file catches exceptions, so other
 * instructions may be reached, too. With indirect jumps, this is always so. 0; -EILSEQ: some bytes
 * are not an instruction; -EBADMSG: it cannot be proven what is a return instruction, and what is
 * data; -E2BIG: more than FUNC_EXITS_MAX; -ENOMEM.
 */
int func_exits__find(int machine, const struct func_part *parts, size_t n_parts, bool hidden,
		     struct func_exits *ret);

/*
 * Does an instruction begin at @offset, in bytes, of @part, a function's main part? @offset is
 * below its size. 0: yes; -EINVAL: no; -EILSEQ, -EBADMSG, -ENOMEM as above.
 */
int func_exits__check_boundary(int machine, const struct func_part *part, uint64_t offset);

enum insn_kind {
	INSN_OTHER,
	INSN_RETURN,
	INSN_JUMP,     /* to `target` */
	INSN_INDIRECT, /* an indirect jump: through a register or memory */
	INSN_CALL,     /* a direct one, of `target` */
	INSN_STOP,     /* it raises an exception: nothing comes after it */
};

struct insn {
	enum insn_kind kind;
	uint32_t len;
	bool always;	/* of INSN_JUMP: it never leads to the next instruction */
	int64_t target; /* of INSN_JUMP and INSN_CALL: relative to the instruction's own address */
};

/*
 * Decode one instruction. 0 or -EILSEQ: it is invalid or cut off, or @machine is neither arm64 nor
 * this one.
 */
int insn__decode(int machine, const uint8_t *code, size_t size, struct insn *ret);

#endif
