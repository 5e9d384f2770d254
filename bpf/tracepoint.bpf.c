// SPDX-License-Identifier: GPL-2.0-only
/*
 * tracepoint: a tracepoint is hit. The program of this object is attached by name to one
 * tracepoint. It extracts the values that rules need from the arguments; user space has found them
 * in the BTF.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "hit.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* By bank, like the rules. */
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
