// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes offcpu-time into the rings of a session when a task comes back to a CPU: for how long it
 * slept, and where. Like perf record --off-cpu, it leaves out kernel threads and tasks that were
 * preempted. The user stack is taken when the task leaves the CPU, as only the current task has
 * one. The kernel stack is that of the sleep until the task runs again.
 *
 * After a freeze, an iterator lists the tasks that were asleep at that time.
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

#define BUDGET_NS	   200000  /* sampled: a task gets one record for this much sleep */
#define PREEMPTED_LEAST_NS 1000000 /* sampled: shorter times without a CPU are not written */
#define USER_PAUSE_NS	   200000  /* sampled: the user stack of a task is not taken more often */

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
 * The sleep of a task. Each recorded task has one: the programs of the scheduler must not allocate.
 */
struct off_cpu {
	__u64 begin;	   /* ns; 0: it does not sleep */
	__u64 switches;	   /* task_switches() at that time */
	__u64 slept, last; /* sampled: ns since the last record, and of the last sleep */
	__u64 user_at;	   /* ns: when the user stack was taken */
	bool preempted;
	__u64 user_bytes;
	__u64 user[FRBPF_OFF_CPU_USER];
	/* the last sleep that the rings may lack at a freeze: see off_cpu_keep() */
	struct {
		__u64 begin, end; /* ns; begin 0: none */
		__u64 kernel_bytes, user_bytes;
		__u64 kernel[FRBPF_OFF_CPU_KERNEL];
	} kept;
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
	__type(value, struct frbpf_off_cpu);
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

/* Does it leave the CPU for a time that is recorded? */
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
 * ns: a freeze whose tasks are not listed yet, set by the daemon when the rings do not change any
 * more; 0: none
 */
__u64 frozen_at;

static __always_inline bool spans_freeze(__u64 begin, __u64 end)
{
	return begin < frozen_at && end >= frozen_at;
}

/*
 * Keep a sleep that has ended, for ot_asleep(). The copies of the rings may lack it: the rings were
 * paused when it ended, or had been copied before. A kept sleep that spans the freeze is not
 * replaced by a later one.
 */
static __always_inline void off_cpu_keep(struct off_cpu *s, const struct frbpf_off_cpu *r,
					 __u64 kernel_bytes, __u64 begin, __u64 now)
{
	s->kept.begin = 0;
	barrier();
	if (!AT_MOST(kernel_bytes, sizeof(s->kept.kernel)))
		return;
	bpf_probe_read_kernel(s->kept.kernel, kernel_bytes, r->ips);
	s->kept.kernel_bytes = kernel_bytes;
	s->kept.user_bytes = s->user_bytes;
	s->kept.end = now;
	barrier();
	s->kept.begin = begin;
}

/* Write the record of a sleep. @task is about to run. */
static __always_inline void off_cpu_write(void *ctx, struct task_struct *task, struct off_cpu *s,
					  __u64 begin, __u64 now)
{
	__u64 kernel_bytes = 0, user_bytes = s->user_bytes, size, pid, tid;
	struct frbpf_off_cpu *r;
	__u32 zero = 0;
	long bytes, err = 0;

	r = bpf_map_lookup_elem(&records, &zero);
	if (!r)
		return;
	if (with_kernel) {
		bytes = bpf_get_task_stack(task, r->ips, FRBPF_OFF_CPU_KERNEL * sizeof(__u64), 0);
		kernel_bytes = bytes > 0 ? bytes : 0;
	}
	task_pids(task, &pid, &tid);
	r->pid = pid;
	r->tid = tid;
	r->ns = now - begin;
	r->n_kernel = kernel_bytes / sizeof(__u64);
	r->n_user = user_bytes / sizeof(__u64);
	if (!AT_MOST(kernel_bytes, FRBPF_OFF_CPU_KERNEL * sizeof(__u64)) ||
	    !AT_MOST(user_bytes, sizeof(s->user)))
		return;
	bpf_probe_read_kernel((void *)r->ips + kernel_bytes, user_bytes, s->user);
	size = FRBPF_OFF_CPU_HEAD + kernel_bytes + user_bytes;
	if (AT_MOST(size, sizeof(*r)))
		err = bpf_perf_event_output(ctx, &out, BPF_F_CURRENT_CPU, r, size);
	if (spans_freeze(begin, now) || (err && !spans_freeze(s->kept.begin, s->kept.end)))
		off_cpu_keep(s, r, kernel_bytes, begin, now);
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

/* Add all but the kernel part of the stack. Returns the size of the record. */
static __always_inline __u64 asleep_finish(struct frbpf_asleep *r, struct task_struct *task,
					   const struct off_cpu *s, __u64 kernel_bytes,
					   __u64 user_bytes)
{
	__u64 pid, tid;

	task_pids(task, &pid, &tid);
	r->cpu = task_cpu(task);
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

/* If the task runs meanwhile, its stacks may be mixed: the caller checks that it did not. */
static __always_inline __u64 asleep_fill(struct frbpf_asleep *r, struct task_struct *task,
					 const struct off_cpu *s)
{
	long bytes = 0;

	if (with_kernel)
		bytes = bpf_get_task_stack(task, r->off_cpu.ips,
					   FRBPF_OFF_CPU_KERNEL * sizeof(__u64), 0);
	return asleep_finish(r, task, s, bytes > 0 ? bytes : 0, s->user_bytes);
}

/* Start of the kept sleep, if it spans the end of the window; 0: there is none. */
static __always_inline __u64 kept_since(const struct off_cpu *s)
{
	__u64 begin = s->kept.begin;

	return begin < asleep_at && s->kept.end > asleep_at ? begin : 0;
}

/* asleep_fill() for the kept sleep. Its user stack is left out if a later one has replaced it. */
static __always_inline __u64 kept_fill(struct frbpf_asleep *r, struct task_struct *task,
				       const struct off_cpu *s)
{
	__u64 kernel_bytes = s->kept.kernel_bytes;

	if (!AT_MOST(kernel_bytes, sizeof(s->kept.kernel)))
		return 0;
	bpf_probe_read_kernel(r->off_cpu.ips, kernel_bytes, s->kept.kernel);
	return asleep_finish(r, task, s, kernel_bytes,
			     s->user_at <= s->kept.begin ? s->kept.user_bytes : 0);
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
	if (!begin || asleep_since(task, s) != begin) {
		begin = kept_since(s);
		size = begin ? kept_fill(r, task, s) : 0;
		barrier();
		if (kept_since(s) != begin)
			return 0;
	}
	r->size = size;
	r->off_cpu.ns = begin;
	if (size && AT_MOST(size, sizeof(*r)))
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
