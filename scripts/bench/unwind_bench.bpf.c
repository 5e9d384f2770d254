// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two ways to keep the stack of a thread that is switched out and has no frame pointers. Copy the
 * top of the stack, to unwind it later; or unwind it here, by a table that user space has made of
 * .eh_frame. For x86-64.
 */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "unwind_bench.h"

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* user space sets as many as needed */
	__type(key, __u32);
	__type(value, struct unwind_row);
} rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} stacks SEC(".maps");

volatile struct unwind_conf conf;

/*
 * Returns the index of the last row that begins at or before @pc. This is a global function, so the
 * verifier checks it only once.
 */
__noinline __u32 find_row(__u64 pc)
{
	__u32 low = 0, high = conf.n_rows;
	struct unwind_row *row;

	for (int i = 0; i < UNWIND_STEPS && high - low > 1; i++) {
		__u32 middle = low + (high - low) / 2;

		row = bpf_map_lookup_elem(&rows, &middle);
		if (!row)
			return 0;
		if (row->pc <= pc)
			low = middle;
		else
			high = middle;
	}
	return low;
}

struct walk {
	struct unwind_stack *to;
	__u64 pc, sp, bp;
};

/* Note one frame, and go to its caller. Returns 1 if it was the last frame. */
static long walk_frame(__u32 i, struct walk *w)
{
	struct unwind_row *row;
	__u64 cfa;
	__u32 at;

	if (i >= UNWIND_FRAMES)
		return 1;
	w->to->pcs[i] = w->pc;
	w->to->n = i + 1;
	at = find_row(i ? w->pc - 1 : w->pc);
	row = bpf_map_lookup_elem(&rows, &at);
	if (!row || row->cfa == UNWIND_UNKNOWN) {
		w->to->end = UNWIND_LOST;
		return 1;
	}
	if (row->cfa == UNWIND_OUTERMOST) {
		w->to->end = UNWIND_WHOLE;
		return 1;
	}
	cfa = (row->cfa == UNWIND_FROM_BP ? w->bp : w->sp) + row->cfa_offset;
	if (row->has_bp && bpf_probe_read_user(&w->bp, 8, (void *)(cfa + row->bp_offset)))
		return 1;
	if (bpf_probe_read_user(&w->pc, 8, (void *)(cfa - 8)))
		return 1;
	w->sp = cfa;
	if (!w->pc) {
		w->to->end = UNWIND_WHOLE;
		return 1;
	}
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(unwind_here, bool preempt, struct task_struct *prev)
{
	struct unwind_stack *to;
	__u64 began = bpf_ktime_get_ns();
	struct pt_regs *regs;
	struct walk w;

	if (prev->tgid != conf.tgid)
		return 0;
	to = bpf_ringbuf_reserve(&stacks, sizeof(*to), 0);
	if (!to)
		return 0;
	regs = (void *)bpf_task_pt_regs(prev);
	to->n = 0;
	to->end = UNWIND_LOST;
	w = (struct walk){ to, BPF_CORE_READ(regs, ip), BPF_CORE_READ(regs, sp),
			   BPF_CORE_READ(regs, bp) };
	bpf_loop(UNWIND_FRAMES, walk_frame, &w, 0);
	bpf_ringbuf_submit(to, BPF_RB_NO_WAKEUP);
	__sync_fetch_and_add((__u64 *)&conf.total_ns, bpf_ktime_get_ns() - began);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(copy_for_later, bool preempt, struct task_struct *prev)
{
	__u64 began = bpf_ktime_get_ns();
	struct unwind_copy *to;
	struct pt_regs *regs;

	if (prev->tgid != conf.tgid)
		return 0;
	to = bpf_ringbuf_reserve(&stacks, sizeof(*to), 0);
	if (!to)
		return 0;
	regs = (void *)bpf_task_pt_regs(prev);
	bpf_probe_read_kernel(&to->regs, sizeof(to->regs), regs);
	bpf_probe_read_user(to->stack, sizeof(to->stack), (void *)BPF_CORE_READ(regs, sp));
	bpf_ringbuf_submit(to, BPF_RB_NO_WAKEUP);
	__sync_fetch_and_add((__u64 *)&conf.total_ns, bpf_ktime_get_ns() - began);
	return 0;
}
