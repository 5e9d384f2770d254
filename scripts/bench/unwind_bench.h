/* SPDX-License-Identifier: GPL-2.0-only */
/* What unwind_bench.bpf.c and unwind_bench.c share. */
#ifndef FRBPF_UNWIND_BENCH_H
#define FRBPF_UNWIND_BENCH_H

#define UNWIND_FRAMES 24
#define UNWIND_STEPS  20   /* of the binary search: enough for a million rows */
#define UNWIND_COPY   1024 /* bytes, as in `run = evidence` */

enum unwind_cfa { UNWIND_UNKNOWN, UNWIND_FROM_SP, UNWIND_FROM_BP, UNWIND_OUTERMOST };
enum unwind_end { UNWIND_LOST, UNWIND_WHOLE };

/* How to get from a frame to its caller, for addresses from @pc up to the next row. */
struct unwind_row {
	unsigned long long pc;
	int cfa_offset;
	short bp_offset; /* from the CFA */
	unsigned char cfa;
	unsigned char has_bp;
};

/* User space sets tgid and n_rows; the BPF program adds up the time that its stacks take. */
struct unwind_conf {
	unsigned int tgid, n_rows;
	unsigned long long total_ns;
};

struct unwind_stack {
	unsigned int n, end;
	unsigned long long pcs[UNWIND_FRAMES];
};

struct unwind_copy {
	char regs[168]; /* struct pt_regs */
	char stack[UNWIND_COPY];
};

#endif
