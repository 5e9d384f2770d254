/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where kernels (5.15 and later) and architectures differ, and with which commit. Differences in a
 * field's offset need no entry: CO-RE sees to them.
 *
 *  - task_struct::state became ::__state in 5.14 (2f064a59a11f "sched: Change task_struct::state"):
 *    older kernels are refused at load, their field is not asked for.
 *  - The sched_switch tracepoint got prev_state in 5.18 (fa2c3254d7cf "sched/tracing: Don't re-read
 *    p->state when emitting sched_switch event"), behind the arguments we take since 9c2136be0878
 *    "sched/tracing: Append prev_state to tp args instead", before any release. It is not used:
 * until 6.16 (8feb053d5319) it was stale when a pending signal had made the task runnable again.
 *  - struct pid ends in numbers[1], since 6.5 in numbers[] (b69f0aeb0689 "pid: Replace struct pid
 *    1-element array with flex-array"): it is walked by its offset and the size of struct upid.
 *  - bpf_loop() came with 5.17 (e6f2dd0f8067), so loops here have a constant bound that the
 *    verifier walks.
 *  - struct cgroup has the ids of its ancestors in ancestor_ids[], since 6.1 the ancestors
 *    themselves in ancestors[] (7f203bc89eb6 "cgroup: Replace cgroup->ancestor_ids[] with
 *    ->ancestors[]").
 *  - Local storage is looked up without a lock since 6.2; before, a look-up fails on a CPU where
 *    another one was interrupted: it is treated, and counted, as a task without storage.
 */
#ifndef FRBPF_COMPAT_BPF_H
#define FRBPF_COMPAT_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* include/linux/sched.h */
#define TASK_RUNNING	     0
#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_NOLOAD	     0x400
#define TASK_STATES	     0x7f /* without modifiers such as TASK_WAKEKILL or TASK_FREEZABLE */

/*
 * Does the task that is being switched out stay on the run queue? One that blocks cannot read as
 * TASK_RUNNING here: a waker may have set TASK_WAKING already, but goes on only when the switch is
 * over.
 */
static __always_inline bool task_is_runnable(struct task_struct *prev, bool preempt)
{
	return preempt || prev->__state == TASK_RUNNING;
}

/* Of a task that is being switched out without being preempted: in uninterruptible sleep? */
static __always_inline bool task_is_blocked(struct task_struct *prev)
{
	return (prev->__state & (TASK_UNINTERRUPTIBLE | TASK_NOLOAD)) == TASK_UNINTERRUPTIBLE;
}

/* Why a task is being switched out: enum frbpf_state. */
static __always_inline __u64 task_state(struct task_struct *prev, bool preempt)
{
	__u32 state = prev->__state;

	if (preempt)
		return TASK_RUNNING;
	if ((state & (TASK_UNINTERRUPTIBLE | TASK_NOLOAD)) == (TASK_UNINTERRUPTIBLE | TASK_NOLOAD))
		return TASK_UNINTERRUPTIBLE | TASK_NOLOAD;
	return state & TASK_STATES;
}

/* Kernels without CONFIG_SMP lack on_cpu; the only task that runs there is the current one. */
static __always_inline bool task_is_on_cpu(struct task_struct *task)
{
	if (bpf_core_field_exists(task->on_cpu))
		return task->on_cpu;
	return task == bpf_get_current_task_btf();
}

struct cgroup___before_6_1 {
	__u64 ancestor_ids[0];
} __attribute__((preserve_access_index));

/* @level must not be above cgrp->level. */
static __always_inline __u64 cgroup_ancestor_id(struct cgroup *cgrp, __u32 level)
{
	struct cgroup___before_6_1 *old = (void *)cgrp;
	struct cgroup *ancestor = NULL;
	__u64 id = 0;

	if (bpf_core_field_exists(old->ancestor_ids)) {
		bpf_probe_read_kernel(
			&id, sizeof(id),
			(void *)cgrp +
				bpf_core_field_offset(struct cgroup___before_6_1, ancestor_ids) +
				level * sizeof(id));
		return id;
	}
	bpf_probe_read_kernel(&ancestor, sizeof(ancestor),
			      (void *)cgrp + bpf_core_field_offset(struct cgroup, ancestors) +
				      level * sizeof(ancestor));
	return BPF_CORE_READ(ancestor, kn, id);
}

/*
 * The number of the system call that ends; -1 after a signal handler's return. syscall_is_compat()
 * says whether it is one of the 32-bit table: its numbers mean other calls. (x32 calls carry bit 30
 * and so are out of every table's range.)
 */
#if defined(__TARGET_ARCH_x86)
#define NR_RESTART_SYSCALL 219
#define TS_COMPAT	   0x0002 /* arch/x86/include/asm/thread_info.h */

static __always_inline long syscall_nr(struct pt_regs *regs)
{
	return regs->orig_ax;
}

/* While the call is at work, and after it. */
static __always_inline unsigned long syscall_first_arg(struct pt_regs *regs)
{
	return regs->di;
}

static __always_inline bool syscall_is_compat(struct task_struct *task)
{
	return task->thread_info.status & TS_COMPAT;
}
#elif defined(__TARGET_ARCH_arm64)
#define NR_RESTART_SYSCALL 128
#define TIF_32BIT	   22 /* arch/arm64/include/asm/thread_info.h */

static __always_inline long syscall_nr(struct pt_regs *regs)
{
	return regs->syscallno;
}

static __always_inline unsigned long syscall_first_arg(struct pt_regs *regs)
{
	return regs->orig_x0;
}

static __always_inline bool syscall_is_compat(struct task_struct *task)
{
	return task->thread_info.flags & (1UL << TIF_32BIT);
}
#else
#error "no system call ABI for this architecture"
#endif

#endif
