// SPDX-License-Identifier: GPL-2.0-only
/*
 * usdt: a static probe of a program is hit. The subject is the task that hits it. User space reads
 * the location and size of its arguments from the notes of the program.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define MATCH_READS_TEXTS
#include "user_probe.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Its size is set at load. */
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

	barrier_var(
		i); /* the compiler may know that it is in bounds, the verifier of 6.1 does not */
	arg = &place->arg[i % FRBPF_MAX_ARGS];
	v = arg->value;
	if (in_register(arg))
		v = fetch_arg(arg, user_reg(ctx, arg->reg));
	return trim_arg(arg, v);
}

/*
 * Read all arguments. Missing ones also get a value unknown to the verifier: otherwise it would
 * walk the rest once for each set of arguments. user_reg() is not used: it would add a path for
 * each register and argument.
 */
static __always_inline void take_args(struct pt_regs *ctx, const struct frbpf_usdt_place *place,
				      struct match *m)
{
	__u32 i;
	__u64 v;

#pragma clang loop unroll(disable)
	for (i = 0; i < FRBPF_MAX_ARGS; i++) {
		const struct frbpf_usdt_arg *arg = &place->arg[i];

		v = arg->value;
		if (in_register(arg)) {
			bpf_probe_read_kernel(&v, sizeof(v), (void *)ctx + arg->reg);
			v = fetch_arg(arg, v);
		}
		m->val[MATCH_SUBJECT][FRBPF_FIELD_ARG + i][0] = trim_arg(arg, v);
	}
}

SEC("uprobe")
int ud_hit(struct pt_regs *ctx)
{
	__u32 bank = rules_bank(), asked = prefilter_arg(bank);
	const struct frbpf_usdt_place *place;
	struct measured s = { .bank = bank };
	struct match *m;

	if (!control.bank[bank].n_rules)
		return 0;
	place = place_of(ctx);
	if (!place)
		return 0;
	if (asked < FRBPF_MAX_ARGS && !prefilter_takes_arg(bank, place_arg(ctx, place, asked)))
		return 0;
	if (!prefilter_takes_current(bank) || !current_in_scope() || prefilter_suppresses(bank))
		return 0;
	s.self = is_own_task();
	m = user_match(&s);
	if (!m)
		return 0;
	m->source = FRBPF_SOURCE_USDT;
	m->n_args = place->n_args;
	take_args(ctx, place, m);
	user_match_run(m);
	return 0;
}
