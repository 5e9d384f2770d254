// SPDX-License-Identifier: GPL-2.0-only
/*
 * usdt: a static probe of a program is hit. The subject is the task that hits it. User space reads
 * the location and size of its arguments from the notes of the program.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define MATCH_READS_TEXTS
#include "user_args.bpf.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline void take_args(struct pt_regs *ctx, const struct frbpf_usdt_place *place,
				      struct match *m)
{
	__u32 i;

#pragma clang loop unroll(disable)
	for (i = 0; i < FRBPF_MAX_ARGS; i++)
		m->val[MATCH_SUBJECT][FRBPF_FIELD_ARG + i][0] = place_arg_any(ctx, place, i);
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
	m = user_match_begin_hit(&s);
	if (!m)
		return 0;
	m->source = FRBPF_SOURCE_USDT;
	m->n_args = place->n_args;
	take_args(ctx, place, m);
	user_match_run(m);
	return 0;
}
