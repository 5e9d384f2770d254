/* SPDX-License-Identifier: GPL-2.0-only */
/* Tests struct frbpf_prefilter, before anything is copied or looked up. Most hits end here. */
#ifndef FRBPF_PREFILTER_BPF_H
#define FRBPF_PREFILTER_BPF_H

#include "rules.bpf.h"

static __always_inline bool prefilter_number(const struct frbpf_prefilter_number *f, __u64 v)
{
	return v - f->lo <= f->span && f->bits >> (v & 63) & 1;
}

/* The index of the argument that is tested; FRBPF_MAX_ARGS or above: none is. */
static __always_inline __u32 prefilter_arg(__u32 bank)
{
	return control.bank[bank & 1].prefilter.arg.field - FRBPF_FIELD_ARG;
}

static __always_inline bool prefilter_takes_arg(__u32 bank, __u64 v)
{
	return prefilter_number(&control.bank[bank & 1].prefilter.arg, v);
}

/* Is any value of the task tested? */
static __always_inline bool prefilter_asks_task(__u32 bank)
{
	const struct frbpf_prefilter *f = &control.bank[bank & 1].prefilter;

	return f->comm_mask[0] || f->task.field < FRBPF_FIELD_MAX;
}

/*
 * Does the task that runs, which is the subject, pass? The mask leaves out the bytes after the NUL
 * of its name.
 */
static __always_inline bool prefilter_takes_current(__u32 bank)
{
	const struct frbpf_prefilter *f = &control.bank[bank & 1].prefilter;
	struct task_struct *task;
	__u32 field = f->task.field;

	if (!prefilter_asks_task(bank)) /* getting the task costs the most here */
		return true;
	task = bpf_get_current_task_btf();
	if (f->comm_mask[0]) {
		if ((*(__u64 *)&task->comm[0] ^ f->comm[0]) & f->comm_mask[0])
			return false;
		if ((*(__u64 *)&task->comm[8] ^ f->comm[1]) & f->comm_mask[1])
			return false;
	}
	if (field == FRBPF_FIELD_UID)
		return prefilter_number(&f->task, task->real_cred->euid.val);
	if (daemon_pidns != PID_NS_INIT_INUM)
		return true;
	if (field == FRBPF_FIELD_PID)
		return prefilter_number(&f->task, (__u32)task->tgid);
	if (field == FRBPF_FIELD_TID)
		return prefilter_number(&f->task, (__u32)task->pid);
	return true;
}

/*
 * For an event that has passed, and whose subject is the task that runs and is in scope: is it
 * certainly suppressed? It is if the prefilter decides, and the cooldown of the rule was found to
 * last in this jiffy. Then it is counted here.
 *
 * is_known_to_cool() asks the same later, when the event has been copied and its condition
 * evaluated. Asking here first cut a tracepoint hit from 139 to 73 ns, and a static probe hit from
 * 119 to 89 ns. Empty programs took 57 to 65 ns.
 */
static __always_inline bool prefilter_suppresses(__u32 bank)
{
	const struct frbpf_prefilter *f = &control.bank[bank & 1].prefilter;
	struct frbpf_rule_state *st;
	__u32 slot = f->slot;

	if (!f->decides)
		return false;
	st = bpf_map_lookup_elem(&states, &slot);
	if (!st || *(volatile __u64 *)&st->cooling != bpf_jiffies64())
		return false;
	state_suppress(st, is_own_task() ? FRBPF_CAUSE_SELF : FRBPF_CAUSE_COOLDOWN);
	return true;
}

#endif
