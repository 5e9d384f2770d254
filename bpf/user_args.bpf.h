/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Arguments at a place in a program: of a static probe, or of a function at its entry. The note of
 * the probe tells where they are; user space describes those of functions in the same way.
 */
#ifndef FRBPF_USER_ARGS_BPF_H
#define FRBPF_USER_ARGS_BPF_H

#include "user_probe.bpf.h"

/* The size of the map is set at load. */
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

static __always_inline bool in_register(const struct frbpf_usdt_arg *arg)
{
	return arg->kind == FRBPF_SDT_REG || arg->kind == FRBPF_SDT_MEM;
}

/* Get the argument from the value @reg of its register. */
static __always_inline __u64 fetch_arg(const struct frbpf_usdt_arg *arg, __u64 reg)
{
	if (arg->kind != FRBPF_SDT_MEM)
		return reg;
	return user_memory(reg + arg->value, (64 - arg->cut % 64) / 8);
}

static __always_inline __u64 trim_arg(const struct frbpf_usdt_arg *arg, __u64 v)
{
	__u32 cut = arg->cut % 64;
	__u64 sign = (__u64)(arg->is_signed & 1) << (63 - cut);

	v = v << cut >> cut;
	return (v ^ sign) - sign;
}

static __always_inline __u64 place_arg(struct pt_regs *ctx, const struct frbpf_usdt_place *place,
				       __u32 i)
{
	const struct frbpf_usdt_arg *arg;
	__u64 v;

	/* the compiler may know that `i` is in bounds, the verifier of 6.1 does not */
	barrier_var(i);
	arg = &place->arg[i % FRBPF_MAX_ARGS];
	v = arg->value;
	if (in_register(arg))
		v = fetch_arg(arg, user_reg(ctx, arg->reg));
	return trim_arg(arg, v);
}

/*
 * The same for loops over all arguments. It does not use user_reg(): the verifier would walk a path
 * for each register and argument. A missing argument also gets a value unknown to the verifier,
 * which would otherwise walk the rest once for each set of arguments.
 */
static __always_inline __u64 place_arg_any(struct pt_regs *ctx,
					   const struct frbpf_usdt_place *place, __u32 i)
{
	const struct frbpf_usdt_arg *arg = &place->arg[i];
	__u64 v = arg->value;

	if (in_register(arg)) {
		bpf_probe_read_kernel(&v, sizeof(v), (void *)ctx + arg->reg);
		v = fetch_arg(arg, v);
	}
	return trim_arg(arg, v);
}

#endif
