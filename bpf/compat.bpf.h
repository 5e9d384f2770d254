/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernels (5.15 and later) and between architectures, with the commits that
 * made them. Different offsets of a field need no entry: CO-RE handles them.
 *
 *  - task_struct::state became ::__state in 5.14 (2f064a59a11f "sched: Change task_struct::state"):
 *    older kernels are refused at load, so the old field is not used.
 *  - The sched_switch tracepoint got prev_state in 5.18 (fa2c3254d7cf "sched/tracing: Don't re-read
 *    p->state when emitting sched_switch event"). Before any release, 9c2136be0878 ("sched/tracing:
 *    Append prev_state to tp args instead") put it after the arguments that we use. We do not use
 *    it: until 6.16 (8feb053d5319) it was stale if a pending signal had made the task runnable.
 *  - struct pid ends in numbers[1], since 6.5 in numbers[] (b69f0aeb0689 "pid: Replace struct pid
 *    1-element array with flex-array"): it is walked by its offset and the size of struct upid.
 *  - bpf_loop() came with 5.17 (e6f2dd0f8067), so loops here have a constant bound, and the
 *    verifier walks them.
 *  - struct cgroup has the ids of its ancestors in ancestor_ids[], since 6.1 the ancestors
 *    themselves in ancestors[] (7f203bc89eb6 "cgroup: Replace cgroup->ancestor_ids[] with
 *    ->ancestors[]").
 *  - Before 5.17, struct request pointed to its disk itself (f3fa33acca9f "block: remove the
 *    ->rq_disk field in struct request").
 *  - enum req_opf is enum req_op since 6.0 (ff07a02e9e8e "treewide: Rename enum req_opf into enum
 *    req_op"), and its numbers of zone commands have changed: user/detect/blkio.c looks them up.
 *    CO-RE on a type that the kernel itself lacks would need CAP_SYS_ADMIN, since libbpf then
 *    searches the modules.
 *  - block_io_start, the only tracepoint that each request passes in its issuer's context, came
 *    with 6.5 (5a80bd075f3b "block: introduce block_io_start/block_io_done tracepoints").
 *  - Request flags (RQF_*) have been an enum only since 6.11. user/detect/blkio.c looks up the bit.
 *  - Programs on uprobes may be preempted since 6.0 (8c7dcb84e3b7 "bpf: implement sleepable uprobes
 *    by chaining gps"), by other programs of the same object: see user_probe.bpf.h.
 *  - Before 6.4 (d7ba4cc900bf "bpf: return long from bpf_map_ops funcs") bpf_map_update_elem() and
 *    bpf_map_delete_elem() return 32 bits. A negative error is positive in a long, so use an int.
 *  - Since 5.16 the CPU of a task is in its thread_info (bcf9033e5449 "sched: move CPU field back
 *    into thread_info if THREAD_INFO_IN_TASK=y"). Kernels without CONFIG_SMP have neither field.
 *  - The tracepoints contention_begin and contention_end came with 5.19 (16edd9b511a1 "locking: Add
 *    lock contention tracepoints").
 *  - Since 6.9, the fields that all kinds of file locks share are in struct file_lock_core
 *    (a69ce85ec9af "filelock: split common fields into struct file_lock_core").
 *  - With PREEMPT_RT, which is in the kernel since 6.12, a mutex is a struct rt_mutex_base.
 *  - Since 6.2 local storage is looked up without a lock. Before, a lookup fails if it interrupts
 *    another lookup on the same CPU. The task is then handled, and counted, as one without storage.
 */
#ifndef FRBPF_COMPAT_BPF_H
#define FRBPF_COMPAT_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "abi.h"

/* include/uapi/linux/stat.h */
#define S_IFMT	 0170000
#define S_IFCHR	 0020000
#define S_IFDIR	 0040000
#define S_IFBLK	 0060000
#define S_IFREG	 0100000
#define S_IFSOCK 0140000

/* include/linux/sched.h */
#define TASK_RUNNING	     0
#define TASK_INTERRUPTIBLE   0x1
#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_DEAD	     0x80
#define TASK_NOLOAD	     0x400
#define PF_KTHREAD	     0x00200000
#define TASK_STATES	     0x7f /* without modifiers such as TASK_WAKEKILL or TASK_FREEZABLE */

/*
 * Does the task that is switched out stay on the run queue? A task that blocks cannot be in
 * TASK_RUNNING here: a waker may have set TASK_WAKING, but sets TASK_RUNNING only after the switch.
 */
static __always_inline bool task_is_runnable(struct task_struct *prev, bool preempt)
{
	return preempt || prev->__state == TASK_RUNNING;
}

/* Does a task that is switched out, but not preempted, go to uninterruptible sleep? */
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

struct task_struct___before_5_16 {
	unsigned int cpu;
} __attribute__((preserve_access_index));

/* The CPU on which the task runs, waits or last ran. */
static __always_inline __u32 task_cpu(struct task_struct *task)
{
	struct task_struct___before_5_16 *old = (void *)task;

	if (bpf_core_field_exists(task->thread_info.cpu))
		return BPF_CORE_READ(task, thread_info.cpu);
	if (bpf_core_field_exists(old->cpu))
		return BPF_CORE_READ(old, cpu);
	return 0;
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

struct request___before_5_17 {
	struct gendisk *rq_disk;
} __attribute__((preserve_access_index));

/* FRBPF_DEV() of the disk that a request is for; 0: the request has none. */
static __always_inline __u64 request_dev(struct request *rq)
{
	struct request___before_5_17 *old = (void *)rq;
	struct gendisk *disk;

	if (bpf_core_field_exists(old->rq_disk))
		disk = BPF_CORE_READ(old, rq_disk);
	else
		disk = BPF_CORE_READ(rq, q, disk);
	if (!disk)
		return 0;
	return FRBPF_DEV(BPF_CORE_READ(disk, major), BPF_CORE_READ(disk, first_minor));
}

#define REQ_OP_MASK 0xff

/*
 * Convert to enum frbpf_blkio_op. The numbers used here have not changed since 4.10, except for
 * @zone_append.
 */
static __always_inline __u64 request_op(__u32 cmd_flags, __u32 zone_append)
{
	__u32 op = cmd_flags & REQ_OP_MASK;

	if (op == zone_append)
		return FRBPF_BLKIO_ZONE_APPEND;
	switch (op) {
	case REQ_OP_READ:
		return FRBPF_BLKIO_READ;
	case REQ_OP_WRITE:
		return FRBPF_BLKIO_WRITE;
	case REQ_OP_FLUSH:
		return FRBPF_BLKIO_FLUSH;
	case REQ_OP_DISCARD:
		return FRBPF_BLKIO_DISCARD;
	case REQ_OP_SECURE_ERASE:
		return FRBPF_BLKIO_SECURE_ERASE;
	case REQ_OP_WRITE_ZEROES:
		return FRBPF_BLKIO_WRITE_ZEROES;
	case REQ_OP_DRV_IN:
	case REQ_OP_DRV_OUT:
		return FRBPF_BLKIO_DRIVER;
	}
	return FRBPF_BLKIO_OTHER;
}

#define REQUEST_FLAG(cmd_flags, name, flag)                                                        \
	(bpf_core_enum_value_exists(enum req_flag_bits, name) &&                                   \
			 (cmd_flags)&1U << bpf_core_enum_value(enum req_flag_bits, name)           \
		 ? (flag)                                                                          \
		 : 0)

/* Convert to FRBPF_BLKIO_SYNC and so on. */
static __always_inline __u64 request_flags(__u32 cmd_flags)
{
	return REQUEST_FLAG(cmd_flags, __REQ_SYNC, FRBPF_BLKIO_SYNC) |
	       REQUEST_FLAG(cmd_flags, __REQ_META, FRBPF_BLKIO_META) |
	       REQUEST_FLAG(cmd_flags, __REQ_PRIO, FRBPF_BLKIO_PRIO) |
	       REQUEST_FLAG(cmd_flags, __REQ_FUA, FRBPF_BLKIO_FUA) |
	       REQUEST_FLAG(cmd_flags, __REQ_PREFLUSH, FRBPF_BLKIO_PREFLUSH) |
	       REQUEST_FLAG(cmd_flags, __REQ_RAHEAD, FRBPF_BLKIO_AHEAD) |
	       REQUEST_FLAG(cmd_flags, __REQ_BACKGROUND, FRBPF_BLKIO_BACKGROUND) |
	       REQUEST_FLAG(cmd_flags, __REQ_NOWAIT, FRBPF_BLKIO_NOWAIT) |
	       REQUEST_FLAG(cmd_flags, __REQ_SWAP, FRBPF_BLKIO_SWAP);
}

struct rt_mutex_base___owner {
	struct task_struct *owner;
} __attribute__((preserve_access_index));

#define LOCK_OWNER_FLAGS   7 /* low bits of the owner of a mutex or semaphore */
#define RWSEM_READER_OWNED 1 /* kernel/locking/rwsem.c: the owner is one of its readers */

/* These return the owner of a lock: a task_struct * with LOCK_OWNER_FLAGS. 0: none, or unknown. */
static __always_inline __u64 rt_mutex_owner(void *lock)
{
	struct rt_mutex_base___owner *rt = lock;

	return bpf_core_field_exists(rt->owner) ? (__u64)BPF_CORE_READ(rt, owner) : 0;
}

static __always_inline __u64 mutex_owner(void *lock)
{
	struct mutex *m = lock;

	return bpf_core_field_exists(m->owner) ? BPF_CORE_READ(m, owner.counter)
					       : rt_mutex_owner(lock);
}

static __always_inline __u64 rwsem_owner(void *lock)
{
	struct rw_semaphore *sem = lock;

	return bpf_core_field_exists(sem->owner) ? BPF_CORE_READ(sem, owner.counter) : 0;
}

struct file_lock___before_6_9 {
	struct file_lock___before_6_9 *fl_blocker;
	unsigned int fl_pid;
} __attribute__((preserve_access_index));

#define FILE_LOCK_WAITERS 16 /* most waiters in the chain that leads to the holder */

/*
 * The pid, in the initial namespace, of the process that @lock waits for; 0: unknown. The lock that
 * blocks @lock may itself wait for another one: only the last lock of that chain is held. There is
 * a loop for each layout, since the compiler moves the offsets out of a loop.
 */
static __always_inline __u32 file_lock_holder(struct file_lock *lock)
{
	struct file_lock___before_6_9 *old = (void *)lock, *older = NULL;
	struct file_lock *holder = lock, *next = NULL;
	__s32 pid = 0;
	__u32 i;

	if (bpf_core_field_exists(old->fl_blocker)) {
		for (i = 0; i < FILE_LOCK_WAITERS; i++) {
			older = BPF_CORE_READ(old, fl_blocker);
			if (!older)
				break;
			old = older;
		}
		if (!older && i)
			pid = BPF_CORE_READ(old, fl_pid);
	} else {
		for (i = 0; i < FILE_LOCK_WAITERS; i++) {
			/* flc_blocker points to `c`, the first member of struct file_lock */
			next = (void *)BPF_CORE_READ(holder, c.flc_blocker);
			if (!next)
				break;
			holder = next;
		}
		if (!next && i)
			pid = BPF_CORE_READ(holder, c.flc_pid);
	}
	return pid > 0 ? pid : 0; /* -1: the lock belongs to an open file description */
}

/*
 * The number of the system call that ends; -1 after the return of a signal handler. In the 32-bit
 * table, the same numbers mean other calls: check syscall_is_compat(). x32 calls have bit 30 set,
 * so they are beyond the range of every table.
 */
#if defined(__TARGET_ARCH_x86)
#define NR_RESTART_SYSCALL 219
#define NR_EXECVE	   59
#define NR_EXECVEAT	   322
#define NR_RT_SIGRETURN	   15
#define NR_FUTEX	   202
#define TS_COMPAT	   0x0002 /* arch/x86/include/asm/thread_info.h */

static __always_inline long syscall_nr(struct pt_regs *regs)
{
	return regs->orig_ax;
}

/* Arguments of the call; they can be read during the call and at its exit. */
static __always_inline unsigned long syscall_first_arg(struct pt_regs *regs)
{
	return regs->di;
}

static __always_inline unsigned long syscall_second_arg(struct pt_regs *regs)
{
	return regs->si;
}

static __always_inline unsigned long syscall_third_arg(struct pt_regs *regs)
{
	return regs->dx;
}

static __always_inline unsigned long syscall_fifth_arg(struct pt_regs *regs)
{
	return regs->r8;
}

/* The address of the call in user space. */
static __always_inline unsigned long syscall_ip(struct pt_regs *regs)
{
	return regs->ip;
}

static __always_inline unsigned long syscall_sp(struct pt_regs *regs)
{
	return regs->sp;
}

static __always_inline bool syscall_is_compat(struct task_struct *task)
{
	return task->thread_info.status & TS_COMPAT;
}
#elif defined(__TARGET_ARCH_arm64)
#define NR_RESTART_SYSCALL 128
#define NR_EXECVE	   221
#define NR_EXECVEAT	   281
#define NR_RT_SIGRETURN	   139
#define NR_FUTEX	   98
#define TIF_32BIT	   22 /* arch/arm64/include/asm/thread_info.h */

/* Unsigned, so that -1 (no call) is beyond every range, and the verifier knows it. */
static __always_inline long syscall_nr(struct pt_regs *regs)
{
	return (__u32)regs->syscallno;
}

static __always_inline unsigned long syscall_first_arg(struct pt_regs *regs)
{
	return regs->orig_x0;
}

static __always_inline unsigned long syscall_second_arg(struct pt_regs *regs)
{
	return ((struct user_pt_regs *)regs)->regs[1];
}

static __always_inline unsigned long syscall_third_arg(struct pt_regs *regs)
{
	return ((struct user_pt_regs *)regs)->regs[2];
}

static __always_inline unsigned long syscall_fifth_arg(struct pt_regs *regs)
{
	return ((struct user_pt_regs *)regs)->regs[4];
}

static __always_inline unsigned long syscall_ip(struct pt_regs *regs)
{
	return ((struct user_pt_regs *)regs)->pc;
}

static __always_inline unsigned long syscall_sp(struct pt_regs *regs)
{
	return ((struct user_pt_regs *)regs)->sp;
}

static __always_inline bool syscall_is_compat(struct task_struct *task)
{
	return task->thread_info.flags & (1UL << TIF_32BIT);
}
#else
#error "no system call ABI for this architecture"
#endif

#endif
