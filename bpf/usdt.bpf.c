// SPDX-License-Identifier: GPL-2.0-only
/*
 * usdt: a static probe of a program is hit. The subject is the task that runs into it. Where its
 * arguments are, and how large, user space has read from the program's notes.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "user_probe.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Its size is set when it is loaded. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct frbpf_usdt_place);
} places SEC(".maps");

const volatile __u32 n_places = 1;

static __always_inline const struct frbpf_usdt_place *place_of(struct pt_regs *ctx)
{
	__u32 i = n_places > 1 ? bpf_get_attach_cookie(ctx) : 0;

	return bpf_map_lookup_elem(&places, &i);
}

static __noinline __u64 place_arg(struct pt_regs *ctx, const struct frbpf_usdt_arg *arg)
{
	__u32 cut = arg->cut % 64;
	__u64 v;

	if (arg->kind == FRBPF_SDT_CONST)
		v = arg->value;
	else if (arg->kind == FRBPF_SDT_REG || arg->kind == FRBPF_SDT_MEM)
		v = user_reg(ctx, arg->reg);
	else
		return 0;
	if (arg->kind == FRBPF_SDT_MEM)
		v = user_memory(v + arg->value, (64 - cut) / 8);
	v <<= cut;
	return arg->is_signed ? (__u64)((__s64)v >> cut) : v >> cut;
}

SEC("uprobe")
int ud_hit(struct pt_regs *ctx)
{
	__u32 half = rules_half(), asked = gate_arg(half), i;
	const struct frbpf_usdt_place *place;
	struct probe_args args = {};
	struct match *m;

	if (!control.half[half].n_rules)
		return 0;
	place = place_of(ctx);
	if (!place)
		return 0;
	if (asked < FRBPF_MAX_ARGS && !gate_takes_arg(half, place_arg(ctx, &place->arg[asked])))
		return 0;
	if (!gate_takes_task(half, bpf_get_current_task_btf()))
		return 0;
	for (i = 0; i < FRBPF_MAX_ARGS; i++)
		args.v[i] = place_arg(ctx, &place->arg[i]);
	if (!rules_may_hold(half, &args))
		return 0;
	m = user_match(half, bpf_ktime_get_ns(), 0);
	if (!m)
		return 0;
	m->source = FRBPF_SOURCE_USDT;
	match_args(m, &args);
	rules_run_for(m, bpf_get_current_task_btf());
	return 0;
}
