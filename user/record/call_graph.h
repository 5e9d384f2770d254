/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parses the words for callchains, branch stacks and registers in options and in terms of an event.
 */
#ifndef FRBPF_RECORD_CALL_GRAPH_H
#define FRBPF_RECORD_CALL_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "record/record_opts.h"

/* Part of a text. */
struct part_span {
	size_t off, len;
};

#define CALL_GRAPH_STACK_DEFAULT 8192
#define CALL_GRAPH_STACK_MAX	 65528 /* the size of a record has 16 bits */

/* Find "fp", "dwarf" or "lbr". Returns CALL_GRAPH_NONE for any other word. */
enum call_graph call_graph__find(const char *s, size_t len);

/* Round up to a multiple of 8 bytes. 0 or -ERANGE: too large. */
int call_graph__round_stack(uint64_t *bytes);

#define CALL_GRAPH_BRANCH_WORDS                                                                    \
	"u k hv any any_call any_ret ind_call abort_tx in_tx no_tx cond ind_jmp call no_flags "    \
	"no_cycles save_type stack priv hw_index"

/*
 * Parse "any_call,u" into bits of attr.branch_sample_type; privilege levels alone mean any branch.
 * 0 or -EINVAL: *ret_bad is the unknown part.
 */
int call_graph__branch_types(const char *s, size_t len, uint64_t *ret, struct part_span *ret_bad);

/*
 * ---- registers of a sample by name: bits of attr.sample_regs_user and sample_regs_intr
 * (arch/.../include/uapi/asm/perf_regs.h) ----
 */

/*
 * ALL: what -I without names records, and what DWARF unwinding records. MINIMAL: what DWARF
 * unwinding adds if --user-regs names registers.
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
