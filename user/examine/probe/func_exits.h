/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a function ends, read from its instructions: that is where probes are put. There are no return
 * probes: one puts an address of the kernel's in place of the return address, and who walks the stack to throw an
 * exception does not get beyond it, which ends the program. What a function calls may throw whatever its own
 * file is made of, so no look at the file can tell that nothing does.
 */
#ifndef FRBPF_EXAMINE_FUNC_EXITS_H
#define FRBPF_EXAMINE_FUNC_EXITS_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

/* e_machine of the programs that can be probed here. */
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
	uint32_t jumps;	  /* ways out that go on in another function, without a return of its own */
	uint64_t jump_to; /* where the first of them leads */
	uint32_t
		indirect; /* jumps of which cannot be told where they lead: within it, or out of it */
};

/* Another part of the same function, away from it. */
struct func_part {
	uint64_t addr, size;
	const uint8_t *code;
};

/*
 * @parts: the function itself and those that it was split into; @machine is EM_X86_64 or
 * EM_AARCH64. 0; -EILSEQ: there is something else among its instructions; -E2BIG: more than
 * FUNC_EXITS_MAX.
 */
int func_exits__find(int machine, const struct func_part *parts, size_t n_parts,
		     struct func_exits *ret);

/* Does an instruction begin @offset bytes into the code? 0, -EINVAL: no, -EILSEQ as above. */
int func_exits__check_boundary(int machine, const uint8_t *code, size_t size, uint64_t offset);

enum insn_kind {
	INSN_OTHER,
	INSN_RETURN,
	INSN_JUMP,     /* to `target` */
	INSN_INDIRECT, /* a jump to what a register or memory says */
};

struct insn {
	enum insn_kind kind;
	uint32_t len;
	int64_t target; /* relative to the instruction's own address */
};

/* One instruction. 0, or -EILSEQ: none, not all of it is there, or one of another machine than arm64 and
 * this one. */
int insn__decode(int machine, const uint8_t *code, size_t size, struct insn *ret);

#endif
