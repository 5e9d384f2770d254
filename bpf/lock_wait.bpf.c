// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes frbpf:lock_wait into the rings of a session when a task begins to wait for a lock. The
 * event has the lock's owner at that time; the owner may have changed before the trigger. If the
 * task sleeps, the event is written when the wait begins. If it only spins, the event is written
 * when a long wait ends.
 *
 * Of the kernel locks, mutexes, rw_semaphores and rt_mutexes contain their owner. A glibc mutex has
 * it beside its futex. For a file lock, the owner is the process that blocks it.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "task.bpf.h"
#include "fed_records.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* include/trace/events/lock.h */
#define LCB_F_SPIN   (1U << 0)
#define LCB_F_READ   (1U << 1)
#define LCB_F_WRITE  (1U << 2)
#define LCB_F_RT     (1U << 3)
#define LCB_F_PERCPU (1U << 4)
#define LCB_F_MUTEX  (1U << 5)

#define SPUN_LEAST_NS 50000	/* shorter spins explain nothing */
#define SPIN_LOST_NS  100000000 /* a spin that began longer ago has ended unseen */

/* include/linux/fs.h: the lock is taken, so the task waits */
#define FILE_LOCK_DEFERRED 1

/* include/uapi/linux/futex.h */
#define FUTEX_CMD_MASK	  127
#define FUTEX_WAIT	  0
#define FUTEX_LOCK_PI	  6
#define FUTEX_WAIT_BITSET 9
#define FUTEX_LOCK_PI2	  13
#define FUTEX_TID_MASK	  0x3fffffff

/* struct __pthread_mutex_s of glibc: its first word if others wait; index of the owner's word */
#define MUTEX_CONTENDED 2
#define MUTEX_OWNER	2

/* A lock for which a task spins */
struct spin {
	__u64 lock, since;
	struct frbpf_lock_wait wait;
	__u32 tid; /* the task that spins */
};

/*
 * The spin on this CPU. A spinning task is not preempted. But a task that spins for a mutex may
 * give up the CPU; then the spin of the next task replaces this one. A spin in an interrupt that
 * comes meanwhile is ignored.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct spin);
} spins SEC(".maps");

/* Is this the spin of the current task for @lock? */
static __always_inline bool spin_is_for(const struct spin *s, void *lock)
{
	return s->lock == (__u64)lock && s->tid == (__u32)bpf_get_current_pid_tgid();
}

static __always_inline void owner_read(struct frbpf_lock_wait *w, __u64 owner)
{
	struct task_struct *task = (struct task_struct *)(owner & ~(__u64)LOCK_OWNER_FLAGS);

	if (!task)
		return;
	w->owner = BPF_CORE_READ(task, pid);
	bpf_probe_read_kernel_str(w->owner_comm, sizeof(w->owner_comm),
				  (void *)task + bpf_core_field_offset(struct task_struct, comm));
}

static __always_inline void rwsem_read(struct frbpf_lock_wait *w, void *lock, bool write)
{
	__u64 owner = rwsem_owner(lock);

	w->what = FRBPF_LOCK_RWSEM_READ;
	if (write)
		w->what = owner & RWSEM_READER_OWNED ? FRBPF_LOCK_RWSEM_READERS
						     : FRBPF_LOCK_RWSEM_WRITE;
	if (write || !(owner & RWSEM_READER_OWNED)) /* a reader does not wait for other readers */
		owner_read(w, owner);
}

static __always_inline void wait_fill(struct frbpf_lock_wait *w, void *lock, __u32 flags)
{
	bool write = flags & LCB_F_WRITE;

	w->lock = (__u64)lock;
	if (flags & LCB_F_MUTEX) {
		w->what = FRBPF_LOCK_MUTEX;
		owner_read(w, mutex_owner(lock));
	} else if (flags & LCB_F_RT) {
		w->what = FRBPF_LOCK_RT_MUTEX;
		if (!(flags & (LCB_F_READ | LCB_F_WRITE))) /* otherwise a struct rwbase_rt */
			owner_read(w, rt_mutex_owner(lock));
	} else if (flags & LCB_F_PERCPU) {
		w->what = write ? FRBPF_LOCK_PERCPU_WRITE : FRBPF_LOCK_PERCPU_READ;
	} else if (flags & LCB_F_SPIN) {
		w->what = write		       ? FRBPF_LOCK_RWLOCK_WRITE
			  : flags & LCB_F_READ ? FRBPF_LOCK_RWLOCK_READ
					       : FRBPF_LOCK_SPINLOCK;
	} else if (flags & (LCB_F_READ | LCB_F_WRITE)) {
		rwsem_read(w, lock, write);
	} else {
		w->what = FRBPF_LOCK_SEMAPHORE;
	}
}

SEC("tp_btf/contention_begin")
int BPF_PROG(lw_begin, void *lock, __u32 flags)
{
	struct frbpf_lock_wait w = { .lock = 0 };
	__u64 now = bpf_ktime_get_ns();
	__u32 zero = 0;
	struct spin *s = bpf_map_lookup_elem(&spins, &zero);

	if (!s)
		return 0;
	if (flags & LCB_F_SPIN) {
		__u32 tid = bpf_get_current_pid_tgid();

		if (s->lock && s->tid == tid && (__s64)(now - s->since) < SPIN_LOST_NS)
			return 0;
		s->lock = (__u64)lock;
		s->tid = tid;
		s->since = now;
		__builtin_memset(&s->wait, 0, sizeof(s->wait));
		wait_fill(&s->wait, lock, flags);
		return 0;
	}
	if (spin_is_for(s, lock)) { /* a mutex: the task spun first */
		w.spun_ns = now - s->since;
		s->lock = 0;
	}
	wait_fill(&w, lock, flags);
	record_write(ctx, &w, sizeof(struct frbpf_lock_wait));
	return 0;
}

SEC("tp_btf/contention_end")
int BPF_PROG(lw_end, void *lock, int ret)
{
	__u32 zero = 0;
	struct spin *s = bpf_map_lookup_elem(&spins, &zero);

	if (!s || !lock || !spin_is_for(s, lock))
		return 0;
	s->lock = 0;
	s->wait.spun_ns = bpf_ktime_get_ns() - s->since;
	if (s->wait.what == FRBPF_LOCK_MUTEX)
		s->wait.what = FRBPF_LOCK_MUTEX_SPUN;
	if ((__s64)s->wait.spun_ns >= SPUN_LEAST_NS)
		record_write(ctx, &s->wait, sizeof(struct frbpf_lock_wait));
	return 0;
}

static __always_inline int file_lock_wait(void *ctx, struct file_lock *lock, int ret, __u32 what)
{
	struct frbpf_lock_wait w = { .lock = (__u64)lock, .what = what };

	if (!lock || ret != FILE_LOCK_DEFERRED)
		return 0;
	w.owner = file_lock_holder(lock);
	record_write(ctx, &w, sizeof(struct frbpf_lock_wait));
	return 0;
}

SEC("tp_btf/flock_lock_inode")
int BPF_PROG(lw_flock, struct inode *inode, struct file_lock *lock, int ret)
{
	return file_lock_wait(ctx, lock, ret, FRBPF_LOCK_FLOCK);
}

SEC("tp_btf/posix_lock_inode")
int BPF_PROG(lw_posix, struct inode *inode, struct file_lock *lock, int ret)
{
	return file_lock_wait(ctx, lock, ret, FRBPF_LOCK_POSIX);
}

/* Do tids in the memory of the task belong to the daemon's namespace? */
static __always_inline bool shares_namespace(struct task_struct *task)
{
	/* a copy: before 6.2 the verifier refuses to add an unknown offset to a tracked pointer */
	struct pid *pid = BPF_CORE_READ(task, thread_pid);

	return pid && pid_ns_innermost((__u64)pid) == daemon_pidns;
}

/*
 * Fill in the owner of the futex that @regs waits for. False: it is no mutex, or the owner is
 * unknown.
 */
static __always_inline bool futex_read(struct frbpf_lock_wait *w, struct pt_regs *regs)
{
	__u32 op = syscall_second_arg(regs) & FUTEX_CMD_MASK, word[MUTEX_OWNER + 1] = {};
	bool pi = op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2;

	w->lock = syscall_first_arg(regs);
	if (!pi && op != FUTEX_WAIT && op != FUTEX_WAIT_BITSET)
		return false;
	if (bpf_probe_read_user(word, pi ? sizeof(word[0]) : sizeof(word), (void *)w->lock))
		return false;
	if (!pi && word[0] != MUTEX_CONTENDED)
		return false;
	w->what = pi ? FRBPF_LOCK_FUTEX_PI : FRBPF_LOCK_FUTEX;
	w->own_owner = pi ? word[0] & FUTEX_TID_MASK : word[MUTEX_OWNER];
	return w->own_owner;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(lw_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct frbpf_lock_wait w = { .lock = 0 };
	struct pt_regs *regs;

	if (prev->flags & PF_KTHREAD || task_is_runnable(prev, preempt))
		return 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	if (syscall_nr(regs) != NR_FUTEX || syscall_is_compat(prev))
		return 0;
	if (!futex_read(&w, regs) || !shares_namespace(prev))
		return 0;
	if (daemon_pidns == PID_NS_INIT_INUM)
		w.owner = w.own_owner;
	record_write(ctx, &w, sizeof(struct frbpf_lock_wait));
	return 0;
}
