/* SPDX-License-Identifier: GPL-2.0-only */
/* Registers of a sample by their names: bits of attr.sample_regs_user and sample_regs_intr
 * (arch/.../include/uapi/asm/perf_regs.h). */
#ifndef FRBPF_RECORD_REGISTERS_H
#define FRBPF_RECORD_REGISTERS_H

#include <stddef.h>
#include <stdint.h>

struct part_span {
	size_t off, len;
};

/* What -I alone takes, and DWARF unwinding wants; what that wants beside others that are named. */
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

/* "ip,sp" in any case. -EINVAL: *ret_bad is the part that is none. */
int registers__parse(const char *s, size_t len, uint64_t *ret, struct part_span *ret_bad);

#endif
