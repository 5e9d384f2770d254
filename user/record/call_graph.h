/* SPDX-License-Identifier: GPL-2.0-only */
/* Words of callchains and branch stacks, as options and as terms of an event. */
#ifndef FRBPF_RECORD_CALL_GRAPH_H
#define FRBPF_RECORD_CALL_GRAPH_H

#include "record/record_opts.h"
#include "record/registers.h"

#define CALL_GRAPH_STACK_DEFAULT 8192
#define CALL_GRAPH_STACK_MAX	 65528 /* a record has a size of 16 bits */

/* "fp", "dwarf", "lbr"; CALL_GRAPH_NONE: another word. */
enum call_graph call_graph__find(const char *s, size_t len);

/* To the next multiple of 8 bytes. -ERANGE: too large. */
int call_graph__round_stack(uint64_t *bytes);

#define CALL_GRAPH_BRANCH_WORDS                                                                    \
	"u k hv any any_call any_ret ind_call abort_tx in_tx no_tx cond ind_jmp call no_flags "    \
	"no_cycles save_type stack priv"

/* "any_call,u": the bits of attr.branch_sample_type; levels alone mean any. -EINVAL: *ret_bad is
 * the part that is none. */
int call_graph__branch_types(const char *s, size_t len, uint64_t *ret, struct part_span *ret_bad);

#endif
