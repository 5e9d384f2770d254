/* SPDX-License-Identifier: GPL-2.0-only */
/* What most hits end at: struct frbpf_gate, looked at before anything is copied or looked up. */
#ifndef FRBPF_GATE_BPF_H
#define FRBPF_GATE_BPF_H

#include "rules.bpf.h"

static __always_inline bool gate_number(const struct frbpf_gate_number *g, __u64 v)
{
	return v - g->lo <= g->span && g->bits >> (v & 63) & 1;
}

/* Is a value of the event asked for? Which one: below FRBPF_MAX_ARGS. */
static __always_inline __u32 gate_arg(__u32 half)
{
	return control.half[half & 1].gate.arg.field - FRBPF_FIELD_ARG;
}

static __always_inline bool gate_takes_arg(__u32 half, __u64 v)
{
	return gate_number(&control.half[half & 1].gate.arg, v);
}

/* Is anything about the task asked for? */
static __always_inline bool gate_asks_task(__u32 half)
{
	const struct frbpf_gate *g = &control.half[half & 1].gate;

	return g->comm_mask[0] || g->task.field < FRBPF_FIELD_MAX;
}

/* What is asked of the task that runs, which the event is about. What stands behind the NUL of its name is
 * masked. */
static __always_inline bool gate_takes_current(__u32 half)
{
	const struct frbpf_gate *g = &control.half[half & 1].gate;
	struct task_struct *task;
	__u32 field = g->task.field;

	if (!gate_asks_task(half)) /* to get at it costs more than all else here */
		return true;
	task = bpf_get_current_task_btf();
	if (g->comm_mask[0]) {
		if ((*(__u64 *)&task->comm[0] ^ g->comm[0]) & g->comm_mask[0])
			return false;
		if ((*(__u64 *)&task->comm[8] ^ g->comm[1]) & g->comm_mask[1])
			return false;
	}
	if (field == FRBPF_FIELD_UID)
		return gate_number(&g->task, task->real_cred->euid.val);
	if (daemon_pidns != PID_NS_INIT_INUM)
		return true;
	if (field == FRBPF_FIELD_PID)
		return gate_number(&g->task, (__u32)task->tgid);
	if (field == FRBPF_FIELD_TID)
		return gate_number(&g->task, (__u32)task->pid);
	return true;
}

/*
 * An event that has passed, whose subject is the task that runs and is in scope: is it suppressed for certain? One that
 * the gate decides is, while its cooldown was seen to last in this jiffy.
 */
static __always_inline bool gate_suppresses(__u32 half)
{
	const struct frbpf_gate *g = &control.half[half & 1].gate;
	struct frbpf_rule_state *st;
	__u32 slot = g->slot;

	if (!g->decides)
		return false;
	st = bpf_map_lookup_elem(&states, &slot);
	if (!st || *(volatile __u64 *)&st->cooling != bpf_jiffies64())
		return false;
	suppress(st, is_own_task() ? FRBPF_CAUSE_SELF : FRBPF_CAUSE_COOLDOWN);
	return true;
}

#endif
