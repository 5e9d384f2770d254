// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes offcpu-time into the rings of a session when a task comes back to a CPU: for how long it
 * slept, and where. Like perf record --off-cpu, it leaves out kernel threads and tasks that were
 * preempted. The user stack is taken when the task leaves the CPU: only that of the current task
 * can be read. The kernel stack is that of the sleep until the task runs again.
 *
 * After a freeze, an iterator lists the tasks that still sleep. Sleeps that ended meanwhile are in
 * a BPF ring buffer: their tasks may be gone before the iterator runs.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "task.bpf.h"
#include "fed_records.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Set before load. */
const volatile __u64 least_ns = 0;	/* shorter times are not written */
const volatile bool of_tasks = false;	/* only tasks in @wanted */
const volatile bool inherits = false;	/* and those that they start */
const volatile bool of_cgroups = false; /* only tasks of @cgroups, or below */
const volatile bool with_kernel = true, with_user = true;
const volatile bool sampled = false; /* for `run = evidence`: see off_cpu_counts() */

#define BUDGET_NS	   200000 /* sampled: one record for this much sleep of a task */
#define PREEMPTED_LEAST_NS 1000000 /* sampled: shorter times without a CPU are not written */
#define USER_PAUSE_NS	   200000  /* sampled: the user stack of a task is not taken more often */

#define RING_PAUSED -28 /* -ENOSPC of bpf_perf_event_output() */

/* Numbers of tasks, in the pid namespace of the daemon: for the iterator */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1); /* set before load */
	__type(key, __u32);
	__type(value, __u8);
} wanted SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set before load */
	__type(key, __u64);
	__type(value, __u8);
} cgroups SEC(".maps");

/*
 * The sleep of a task. Each recorded task has one before it sleeps: programs of the scheduler must
 * not allocate.
 */
struct off_cpu {
	__u64 begin;	   /* ns; 0: it does not sleep */
	__u64 switches;	   /* task_switches() at that time */
	__u64 slept, last; /* sampled: ns since the last record, and of the last sleep */
	__u64 user_at;	   /* ns: when the user stack was taken */
	bool preempted;
	__u64 user_bytes;
	__u64 user[FRBPF_OFF_CPU_USER];
	__u64 listed; /* @freeze_began of the last freeze at which a sleep was listed */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct off_cpu);
} off_cpus SEC(".maps");

/* Too large for the stack. Switches on a CPU do not interrupt each other. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct frbpf_asleep);
} records SEC(".maps");

__u64 marked; /* tasks that the iterator has added */

static __always_inline bool task_recorded(struct task_struct *task)
{
	return sampled || !(task->flags & PF_KTHREAD);
}

SEC("iter/task")
int ot_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	__u64 pid, tid;
	__u32 key;

	if (!task || !task_recorded(task) || bpf_task_storage_get(&off_cpus, task, 0, 0))
		return 0;
	task_pids(task, &pid, &tid);
	key = tid;
	if (of_tasks && !bpf_map_lookup_elem(&wanted, &key))
		return 0;
	if (bpf_task_storage_get(&off_cpus, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE))
		marked++;
	return 0;
}

/* The current task is the parent. */
SEC("tp_btf/task_newtask")
int BPF_PROG(ot_newtask, struct task_struct *task)
{
	if (!task_recorded(task))
		return 0;
	if (of_tasks &&
	    (!inherits || !bpf_task_storage_get(&off_cpus, bpf_get_current_task_btf(), 0, 0)))
		return 0;
	bpf_task_storage_get(&off_cpus, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	return 0;
}

static __always_inline bool cgroup_is_listed(__u64 id, __u64 unused)
{
	return bpf_map_lookup_elem(&cgroups, &id);
}

/* Is one of @cgroups the cgroup at address @cgroup, or above it? */
__noinline int cgroup_wanted(__u64 cgroup)
{
	return cgroup_or_ancestor_is(cgroup, cgroup_is_listed, 0);
}

static __always_inline bool task_wanted(struct task_struct *task)
{
	if (!of_cgroups)
		return true;
	return bpf_core_field_exists(task->cgroups) &&
	       cgroup_wanted((__u64)BPF_CORE_READ(task, cgroups, dfl_cgrp));
}

/* Does @prev leave the CPU for a time that is recorded? */
static __always_inline bool task_leaves(struct task_struct *prev, bool preempt)
{
	if (sampled)
		return !(prev->__state & TASK_DEAD);
	return !(prev->flags & PF_KTHREAD) && !task_is_runnable(prev, preempt) &&
	       prev->__state & (TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE);
}

/*
 * Sampled: is the user stack worth its cost? For short sleeps of a task, it is taken at most once
 * in USER_PAUSE_NS, and whenever the sleep is expected to be written.
 */
static __always_inline bool user_wanted(struct task_struct *task, struct off_cpu *s, __u64 now)
{
	if (!with_user)
		return false;
	if (!sampled)
		return true;
	return !s->preempted && !(task->flags & PF_KTHREAD) &&
	       (now - s->user_at >= USER_PAUSE_NS || s->slept + s->last >= BUDGET_NS);
}

/*
 * Is the time off CPU from @begin to @now written? Sampled: it is if it lasted BUDGET_NS, or if the
 * sleeps since the last record add up to that. Long preemptions are written, too: this is how a CPU
 * quota stops a task.
 */
static __always_inline bool off_cpu_counts(const struct off_cpu *s, __u64 begin, __u64 now)
{
	if ((__s64)(now - begin) <= 0)
		return false;
	if (!sampled)
		return now - begin >= least_ns;
	if (s->preempted)
		return now - begin >= PREEMPTED_LEAST_NS;
	return s->slept + (now - begin) >= BUDGET_NS;
}

/* The current task begins to sleep. */
static __always_inline void off_cpu_begin(struct task_struct *task, __u64 now, bool preempted)
{
	struct off_cpu *s = bpf_task_storage_get(&off_cpus, task, 0, 0);
	long bytes = 0;

	if (!s || !task_wanted(task))
		return;
	s->begin = now;
	s->switches = task_switches(task);
	s->preempted = preempted;
	if (user_wanted(task, s, now)) {
		s->user_at = now;
		bytes = bpf_get_task_stack(task, s->user, sizeof(s->user), BPF_F_USER_STACK);
	}
	s->user_bytes = bytes > 0 ? bytes : 0;
}

/* Is @n_ at most @most_? The verifier of 6.1 forgets this bound: check it where it is needed. */
#define AT_MOST(n_, most_)                                                                         \
	({                                                                                         \
		barrier_var(n_);                                                                   \
		(n_) <= (most_);                                                                   \
	})

/*
 * ns, set by the daemon. freeze_began: when the last freeze began. frozen_at: since when no ring
 * changes; 0 unless the sleeping tasks are yet to be listed.
 */
__u64 freeze_began, frozen_at;

static __always_inline bool spans_freeze(__u64 begin, __u64 end)
{
	return begin < frozen_at && end >= frozen_at;
}

/* Sleeps that ended when their record could not get into the copies of the rings */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20); /* set before load */
} ended SEC(".maps");

__u64 ended_lost; /* number of sleeps that did not fit into @ended */

/*
 * A sleep that ends while ot_asleep() looks at it is listed once: by the program that calls this
 * first. At a freeze, a task has one sleep to be listed.
 */
static __always_inline bool listed_first(struct off_cpu *s)
{
	__u64 before = s->listed, now = freeze_began;

	return before != now && __sync_val_compare_and_swap(&s->listed, before, now) == before;
}

/*
 * Fill in the task and its stacks. Returns the size of the record; 0: none. If the task runs
 * meanwhile, its stacks may be mixed: ot_asleep() checks that it did not.
 */
static __always_inline __u64 asleep_fill(struct frbpf_asleep *r, struct task_struct *task,
					 const struct off_cpu *s)
{
	__u64 kernel_bytes = 0, user_bytes = s->user_bytes, pid, tid;
	long bytes;

	if (with_kernel) {
		bytes = bpf_get_task_stack(task, r->off_cpu.ips,
					   FRBPF_OFF_CPU_KERNEL * sizeof(__u64), 0);
		kernel_bytes = bytes > 0 ? bytes : 0;
	}
	task_pids(task, &pid, &tid);
	r->cpu = task_cpu(task);
	r->ended = 0;
	r->off_cpu.pid = pid;
	r->off_cpu.tid = tid;
	r->off_cpu.n_kernel = kernel_bytes / sizeof(__u64);
	r->off_cpu.n_user = user_bytes / sizeof(__u64);
	if (!AT_MOST(kernel_bytes, FRBPF_OFF_CPU_KERNEL * sizeof(__u64)) ||
	    !AT_MOST(user_bytes, sizeof(s->user)))
		return 0;
	bpf_probe_read_kernel((void *)r->off_cpu.ips + kernel_bytes, user_bytes, s->user);
	return FRBPF_ASLEEP_HEAD + kernel_bytes + user_bytes;
}

/* Hand @r, of @size bytes, to the daemon: the sleep has ended. */
static __always_inline void asleep_ended(struct frbpf_asleep *r, __u64 size, __u64 begin, __u64 now)
{
	r->size = size;
	r->ended = now;
	r->off_cpu.ns = begin;
	if (AT_MOST(size, sizeof(*r)) && bpf_ringbuf_output(&ended, r, size, BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&ended_lost, 1);
}

/* Write the record of a sleep. @task is about to run. */
static __always_inline void off_cpu_write(void *ctx, struct task_struct *task, struct off_cpu *s,
					  __u64 begin, __u64 now)
{
	struct frbpf_asleep *r;
	__u64 size, written;
	__u32 zero = 0;
	long err = 0;

	r = bpf_map_lookup_elem(&records, &zero);
	size = r ? asleep_fill(r, task, s) : 0;
	if (!size)
		return;
	r->off_cpu.ns = now - begin;
	written = size - (FRBPF_ASLEEP_HEAD - FRBPF_OFF_CPU_HEAD);
	if (AT_MOST(written, sizeof(r->off_cpu)))
		err = bpf_perf_event_output(ctx, &out, BPF_F_CURRENT_CPU, &r->off_cpu, written);
	if ((err == RING_PAUSED || spans_freeze(begin, now)) && listed_first(s))
		asleep_ended(r, size, begin, now);
}

/* If the task was switched out meanwhile, no program saw the end of this sleep: see waits.bpf.h. */
static __always_inline void off_cpu_end(void *ctx, struct task_struct *task, __u64 now)
{
	struct off_cpu *s;
	__u64 begin;

	if (!task_recorded(task))
		return;
	s = bpf_task_storage_get(&off_cpus, task, 0, 0);
	begin = s ? s->begin : 0;
	if (!begin)
		return;
	s->begin = 0;
	if (s->switches != task_switches(task))
		return;
	if (off_cpu_counts(s, begin, now)) {
		off_cpu_write(ctx, task, s, begin, now);
		s->slept = 0;
	} else if (sampled && !s->preempted) {
		s->slept += now - begin;
	}
	if (sampled && !s->preempted)
		s->last = now - begin;
}

/* ---- the tasks that sleep at a freeze ---- */

__u64 asleep_at; /* ns: the end of the window */

/* One iterator runs at a time. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct frbpf_asleep);
} asleep SEC(".maps");

/* Start of the task's present sleep; 0: none, or too short. */
static __always_inline __u64 asleep_since(struct task_struct *task, const struct off_cpu *s)
{
	__u64 begin = s->begin;

	if (!begin || !off_cpu_counts(s, begin, asleep_at) || s->switches != task_switches(task))
		return 0;
	return begin;
}

SEC("iter/task")
int ot_asleep(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct frbpf_asleep *r;
	__u64 begin, size;
	struct off_cpu *s;
	__u32 zero = 0;

	s = task ? bpf_task_storage_get(&off_cpus, task, 0, 0) : NULL;
	r = bpf_map_lookup_elem(&asleep, &zero);
	if (!s || !r)
		return 0;
	begin = asleep_since(task, s);
	size = begin ? asleep_fill(r, task, s) : 0;
	barrier();
	if (!begin || asleep_since(task, s) != begin)
		return 0;
	r->size = size;
	r->off_cpu.ns = begin;
	if (size && AT_MOST(size, sizeof(*r)) && listed_first(s))
		bpf_seq_write(ctx->meta->seq, r, size);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(ot_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u64 now = bpf_ktime_get_ns();

	if (task_leaves(prev, preempt))
		off_cpu_begin(prev, now, task_is_runnable(prev, preempt));
	off_cpu_end(ctx, next, now);
	return 0;
}
