// SPDX-License-Identifier: GPL-2.0-only
/*
 * usdt: a static probe of a program is hit. The subject is the task that runs into it. Where its
 * arguments are, and how large, libbpf has read from the program's notes.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* Places of one probe that differ in where their arguments are. */
#define BPF_USDT_MAX_SPEC_CNT 256
/* Of kernels before 5.15. */
#define BPF_USDT_MAX_IP_CNT 1
#include <bpf/usdt.bpf.h>

#include "user_probe.bpf.h"

char LICENSE[] SEC("license") = "GPL";

SEC("usdt")
int ud_hit(struct pt_regs *ctx)
{
	struct probe_args args = {};
	__u32 half = rules_half(), i;
	struct match *m;
	long arg;

	if (!control.half[half].n_rules)
		return 0;
	for (i = 0; i < FRBPF_MAX_ARGS; i++) {
		bpf_usdt_arg(ctx, i, &arg);
		args.v[i] = arg;
	}
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
