/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the values of an event are, for rules and keys of spans. A part of abi.h, which includes
 * it.
 */
#ifndef FRBPF_EXTRACT_H
#define FRBPF_EXTRACT_H

/*
 * How to extract a value of an event: from an argument of the tracepoint, or through pointers from
 * there. Step i adds offset[i] to the address. Each step but the last then reads the next address
 * there; the last reads the value.
 */
#define FRBPF_MAX_DEREFS 4
#define FRBPF_MAX_STEPS	 6  /* what frbpf itself needs for the name of a memory cgroup */
#define FRBPF_TP_ARGS	 12 /* the most that a tracepoint has: MAX_BPF_FUNC_ARGS */

enum frbpf_extract_kind {
	FRBPF_EXTRACT_NONE,
	FRBPF_EXTRACT_NUMBER,
	FRBPF_EXTRACT_BE,     /* a big-endian number */
	FRBPF_EXTRACT_STRING, /* the first 15 bytes of a string */
	FRBPF_EXTRACT_IPV4,   /* addresses start at the highest bits of the first word */
	FRBPF_EXTRACT_IPV6,
	FRBPF_EXTRACT_TID, /* keys of spans: this and the next two, of the task that runs */
	FRBPF_EXTRACT_PID,
	FRBPF_EXTRACT_CPU,
};

struct frbpf_extract {
	__u8 kind; /* enum frbpf_extract_kind */
	__u8 arg;
	__u8 n_steps;	  /* 0: the argument itself */
	__u8 size;	  /* numbers: bytes to read, 1, 2, 4 or 8 */
	__u8 shift_left;  /* shift left by this to remove the bits above the value, */
	__u8 shift_right; /* then right by this to remove those below it */
	__u8 is_signed;
	__u8 pad;
	__u32 offset[FRBPF_MAX_STEPS];
};

/*
 * How to find out whose data a kernel thread writes, from the arguments of a tracepoint.
 * FRBPF_EXTRACT_NONE: the tracepoint does not tell.
 */
struct frbpf_own_at {
	struct frbpf_extract disk;	 /* FRBPF_DEV() of the disk */
	struct frbpf_extract bio, inode; /* their addresses */
};

/* The values that the programs of a tracepoint extract for the rules of one bank. */
struct frbpf_extracts {
	__u32 n; /* number of slots in use */
	struct frbpf_extract slot[FRBPF_MAX_ARGS];
};

/* Location of an argument of a static probe. */
enum frbpf_sdt_kind {
	FRBPF_SDT_NONE, /* there is no such argument */
	FRBPF_SDT_CONST,
	FRBPF_SDT_REG,
	FRBPF_SDT_MEM,
};

/* One argument of a static probe. */
struct frbpf_usdt_arg {
	__s64 value; /* CONST: the constant; MEM: added to the register; otherwise 0 */
	__u16 reg;   /* offset of the register in struct pt_regs of user space */
	__u8 kind;   /* enum frbpf_sdt_kind */
	__u8 cut;    /* number of high bits that do not belong to the value: 0, 32, 48 or 56 */
	__u8 is_signed;
	__u8 pad[3];
};

/*
 * The arguments at one place of a probe. The index of the place is the cookie of the program
 * attached there.
 */
struct frbpf_usdt_place {
	struct frbpf_usdt_arg arg[FRBPF_MAX_ARGS];
	__u32 n_args;
	__u32 pad;
};

#define FRBPF_SPAN_KEYS	 4
#define FRBPF_SPAN_DEPTH 8 /* nested starts of one key */

/* One key of a span between places in programs, at one end of it. */
struct frbpf_probe_key {
	__u8 kind; /* FRBPF_EXTRACT_TID, _PID or _NUMBER: an argument */
	__u8 arg;
	__u8 with_birth; /* the key includes the start time of the task, since tids are reused */
	__u8 pad;
};

/* Where a value of a span between probes comes from: the index of an argument, and these flags. */
#define FRBPF_PROBE_VALUE  0x40 /* there is a value */
#define FRBPF_PROBE_START  0x80 /* of the start; otherwise of the end */
#define FRBPF_PROBE_ARG(v) ((v) % FRBPF_MAX_ARGS)

#endif
