/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registers of a sample by name: bits of attr.sample_regs_user and sample_regs_intr
 * (arch/.../include/uapi/asm/perf_regs.h).
 */
#ifndef FRBPF_RECORD_REGISTERS_H
#define FRBPF_RECORD_REGISTERS_H

#include <stddef.h>
#include <stdint.h>

struct part_span {
	size_t off, len;
};

/*
 * ALL: the registers of -I without names, and of DWARF unwinding. MINIMAL: what DWARF unwinding
 * needs in addition to registers that are named.
 */
#if defined(__x86_64__)
#define REGISTERS_ALL	  0xff0fffULL
#define REGISTERS_MINIMAL 0x180ULL
#elif defined(__aarch64__)
#define REGISTERS_ALL	  0x1ffffffffULL
#define REGISTERS_MINIMAL 0x180000000ULL
#else
#define REGISTERS_ALL	  0ULL
#define REGISTERS_MINIMAL 0ULL
#endif

/* Parse "ip,sp", case-insensitive. 0 or -EINVAL: *ret_bad is the unknown part. */
int registers__parse(const char *s, size_t len, uint64_t *ret, struct part_span *ret_bad);

#endif
