// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any tracepoint is hit: one program, attached by name to the tracepoint of this object. What its
 * rules look at lies in its arguments, where user space found it in the kernel's BTF.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "hit.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* By bank, as the rules. */
struct frbpf_extracts extracts[2];

static __always_inline void check_hit(__u32 bank, struct hit *hit)
{
	struct match *m = match_new(&(struct measured){ .bank = bank });

	if (!m)
		return;
	hit_extract(&extracts[bank], &hit->args, m);
	hit_run(m, hit, FRBPF_SOURCE_TRACEPOINT);
}

SEC("raw_tp")
int tp_hit(__u64 *ctx)
{
	__u32 bank = rules_bank();
	struct hit *hit;

	if (!control.bank[bank].n_rules || !hit_passes(bank, &extracts[bank], ctx))
		return 0;
	if (hit_of_current() && !is_disturbed && hit_current_in_scope() &&
	    prefilter_suppresses(bank))
		return 0;
	hit = hit_begin();
	if (!hit)
		return 0;
	hit_take(&hit->args, ctx, n_args);
	check_hit(bank, hit);
	hit_end(hit);
	return 0;
}
