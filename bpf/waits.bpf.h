/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records when each task began to wait, for sources that use tracepoints of the scheduler. Only the
 * iterators and the fork program create the task storage. The other programs run under a run-queue
 * lock, where the allocator must not be called. That lock also serialises the events of a task, so
 * no atomics are needed.
 *
 * Some kernels run no program at some switches and wake-ups. On certain virtual machines, these are
 * all switches and wake-ups while a thread of PID 1 is current. A wait whose end is missed must not
 * extend to the next end that is seen. So the number of switches of the task is saved with the
 * beginning. The kernel increments it whenever the task is switched out, before the tracepoint.
 */
#ifndef FRBPF_WAITS_BPF_H
#define FRBPF_WAITS_BPF_H

#include "look.bpf.h"

struct wait {
	__u64 begin;	/* 0: the task does not wait */
	__u64 switches; /* task_switches() at that time */
	__u64 state;	/* enum frbpf_state; only if the source needs it */
	__u64 seen;	/* ns: when the last look saw it */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct wait);
} waits SEC(".maps");

SEC("iter/task")
int waits_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (task)
		bpf_task_storage_get(&waits, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	return 0;
}

SEC("tp_btf/task_newtask")
int BPF_PROG(waits_newtask, struct task_struct *task)
{
	bpf_task_storage_get(&waits, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	return 0;
}

/* The wait of a task. NULL: it has no storage, which is counted. */
static __always_inline struct wait *wait_of(struct task_struct *task)
{
	struct wait *wait = bpf_task_storage_get(&waits, task, 0, 0);

	if (!wait)
		__sync_fetch_and_add(&unmeasured, 1);
	return wait;
}

/* Begin a wait. If one is recorded already, its end was not seen. */
static __always_inline void wait_begin(struct wait *wait, struct task_struct *task, __u64 now)
{
	if (wait->begin)
		__sync_fetch_and_add(&not_seen, 1);
	wait->begin = now;
	wait->switches = task_switches(task);
}

/*
 * For a task that does not run now: has it not run since the wait began? If it had, it would have
 * been switched out.
 */
static __always_inline bool wait_lasts(const struct wait *wait, struct task_struct *task)
{
	return wait->switches == task_switches(task);
}

/* Set the source of the match and the state of @wait. Each source defines it after this include. */
static void wait_describe(struct match *m, const struct wait *wait);

/* Look at waits that have not ended: see look.bpf.h. */
SEC("iter/task")
int waits_look(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct wait *wait;
	struct match *m;
	__u64 begin;

	if (!task || task->exit_state) /* a dead task only waits for its parent */
		return 0;
	/* create the storage if the kernel refused it at the fork: a later wait is then seen */
	wait = bpf_task_storage_get(&waits, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	begin = wait ? *(volatile __u64 *)&wait->begin : 0;
	if (!begin || !look_reaches(begin))
		return 0;
	m = look_match(begin, 0, task);
	if (!m)
		return 0;
	wait_describe(m, wait);
	if (!task_is_on_cpu(task) && wait_lasts(wait, task) &&
	    *(volatile __u64 *)&wait->begin == begin)
		look_run(m, task, &wait->seen);
	return 0;
}

/*
 * Is this still the recorded wait? Call it at the end of a wait whose value matters. False is
 * counted in `not_seen`. Even at the switch to it, the task does not run yet.
 */
static __always_inline bool is_same_wait(const struct wait *wait, struct task_struct *task)
{
	if (!task_is_on_cpu(task) && wait_lasts(wait, task))
		return true;
	__sync_fetch_and_add(&not_seen, 1);
	return false;
}

/*
 * End a wait that has begun. NULL: the wait is too short for every rule, its value is in doubt,
 * or the task is not in scope. @now: ns.
 */
static __always_inline struct match *wait_end(struct wait *wait, struct task_struct *task,
					      __u64 now)
{
	__u64 begin = wait->begin;
	__u32 bank = rules_bank();
	struct measured s;
	struct match *m;

	wait->begin = 0;
	if ((__s64)(now - begin) <= 0 || rules_below(bank, now - begin))
		return NULL;
	if (!is_same_wait(wait, task))
		return NULL;
	s = (struct measured){ .now = now, .value = now - begin, .bank = bank };
	m = match_begin(&s, task);
	if (m) {
		m->id = task->pid;
		wait_describe(m, wait);
	}
	return m;
}

/* End the wait of @next, if it has one, at the switch from @prev to it. */
static __always_inline void wait_end_at_switch(struct task_struct *prev, struct task_struct *next,
					       __u64 now)
{
	struct wait *wait;
	struct match *m;

	if (!next->pid) /* the idle task waits for nothing */
		return;
	wait = bpf_task_storage_get(&waits, next, 0, 0);
	if (!wait || !wait->begin)
		return;
	m = wait_end(wait, next, now);
	if (m)
		rules_run_for(m, next, prev);
}

#endif
