// SPDX-License-Identifier: GPL-2.0-only
/*
 * app: messages, which the daemon hands in, and hits of FRBPF_TRIGGER(), a static probe of programs.
 * The subject of a hit is the thread that runs into it; its value is the probe's argument, which
 * the cookie of each place says how to find.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "inject.bpf.h"
#include "user_probe.bpf.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline __u64 trim_arg(__u64 v, __u64 cookie)
{
	__u32 left = 64 - (8 << (cookie >> FRBPF_SDT_SIZE_SHIFT & 3));

	v <<= left;
	return cookie & FRBPF_SDT_SIGNED ? (__u64)((__s64)v >> left) : v >> left;
}

/* What cannot be read is 0. */
static __always_inline __u64 probe_arg(struct pt_regs *ctx, __u64 cookie)
{
	__u32 kind = cookie & FRBPF_SDT_KIND_MASK;
	__u64 v;

	if (kind == FRBPF_SDT_CONST)
		return cookie >> FRBPF_SDT_CONST_SHIFT;
	if (kind != FRBPF_SDT_REG && kind != FRBPF_SDT_MEM)
		return 0;
	v = user_reg(ctx, cookie >> FRBPF_SDT_REG_SHIFT & FRBPF_SDT_REG_MASK);
	if (kind == FRBPF_SDT_MEM)
		v = user_memory(v + (__s64)(__s32)(cookie >> FRBPF_SDT_DISP_SHIFT),
				1 << (cookie >> FRBPF_SDT_SIZE_SHIFT & 3));
	return trim_arg(v, cookie);
}

/* Does the first rule need no threshold? These come before all others. */
static __always_inline bool rules_want_all(__u32 half)
{
	__u32 idx = half;
	struct frbpf_rule *rule = bpf_map_lookup_elem(&rules, &idx);

	return rule && rule->flags & FRBPF_RULE_HIT;
}

SEC("uprobe")
int app_hit(struct pt_regs *ctx)
{
	__u64 value = probe_arg(ctx, bpf_get_attach_cookie(ctx));
	__u32 half = rules_half();
	struct settle s;
	struct match *m;

	/* as a message that says so: it is none */
	if (value > FRBPF_APP_DURATION_MAX || !control.half[half].n_rules)
		return 0;
	if (rules_below(half, value) && !rules_want_all(half))
		return 0;
	s = (struct settle){ .now = bpf_ktime_get_ns(), .value = value, .half = half };
	m = user_match_begin(&s);
	if (!m)
		return 0;
	m->source = FRBPF_SOURCE_APP;
	rules_run_for(m, bpf_get_current_task_btf());
	return 0;
}
