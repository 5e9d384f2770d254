/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Looks at pending events whose table has no pointer to their tasks: spans, and calls of functions.
 * Only an iterator over tasks can read the values and the stack of a task. So a look has these
 * passes:
 *
 *	1. over the table: collects the events that have lasted long enough ("due"), by the task
 *	   that began each of them
 *	2. over all tasks: runs the rules for the due events of each
 *	3. over due events of tasks that have ended: the same, if the source wants that
 *
 * Most looks find nothing due, and end after the first pass.
 */
#ifndef FRBPF_DUE_BPF_H
#define FRBPF_DUE_BPF_H

#include "look.bpf.h"

#define MAX_DUE	      16384
#define DUE_AT_ONCE   32
#define DUE_MOST      (DUE_AT_ONCE * DUE_AT_ONCE * 2) /* of a task */
#define DUE_KEY_WORDS 4

/* A due event. The events of a task form a list. */
struct due {
	__u64 begin;
	__u64 seen;		  /* ns: when the last look saw it; may be of an earlier event */
	__u64 key[DUE_KEY_WORDS]; /* its key in the table of events */
	__u32 depth;		  /* which of several starts of that key */
	__u32 next;		  /* 1 + index of the next one; 0: it is the last */
};

struct due_task {
	__u64 tid;  /* in the initial pid namespace */
	__u64 born; /* ns: numbers are reused */
};

/* Not preallocated, since most looks add no entry. Only iterators use this map and the next. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MAX_DUE);
	__type(key, __u32);
	__type(value, struct due);
} due_events SEC(".maps");

/* 1 + index of the first due event of the task. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MAX_DUE);
	__type(key, struct due_task);
	__type(value, __u32);
} due_tasks SEC(".maps");

__u32 n_due; /* in this look; before a look, the daemon sets it to 0 and empties due_tasks */

/* First pass: collect an event. If there is no room, it is counted in `unmeasured`. */
static __always_inline void due_add(const struct due_task *of, const struct due *event)
{
	struct due_task task = *of;
	struct due due = *event;
	__u32 at = n_due, *first = bpf_map_lookup_elem(&due_tasks, &task);

	due.next = first ? *first : 0;
	if (at < MAX_DUE && !bpf_map_update_elem(&due_events, &at, &due, BPF_ANY)) {
		at++;
		n_due = at;
		if (!bpf_map_update_elem(&due_tasks, &task, &at, BPF_ANY))
			return;
	}
	__sync_fetch_and_add(&unmeasured, 1);
}

/*
 * Each source defines this function. It calls due_begin(), sets the values of the event, and calls
 * due_run(). It does nothing if the event has ended. @sp: stack pointer of the task in user space;
 * 0: unknown.
 */
static void due_match(const struct due *due, struct match *m, __u64 sp);

bool due_fired;

/* Begin the match of an event; values of tasks are filled in already. */
static __always_inline void due_begin(struct match *m, const struct due *due)
{
	struct measured s = { .now = look.now,
			      .value = look.now - due->begin,
			      .bank = look.bank & 1,
			      .self = m->self };
	__u32 cpu = m->cpu;

	match_measured(m, &s);
	m->cpu = cpu;
	m->is_pending = 1;
	m->lacks_tasks = 0;
}

/*
 * Run the rules for a due event. @seen: where its entry has the time of the last look. Spans with
 * the same key share an entry, so this look may have changed it: the old value is in due->seen.
 * Does not call rules_run(): too many nested calls for the verifier.
 */
static __always_inline void due_run(struct match *m, const struct due *due, __u64 *seen)
{
	__u32 bank = m->bank & 1, n = control.bank[bank].n_rules, i;

	look_seen(m, due->seen, seen);
	for (i = 0; i < FRBPF_MAX_RULES; i++) {
		if (i >= n || rule_run(2 * i + bank, m) == RUN_END)
			break;
	}
	if (m->fired)
		due_fired = true;
}

/* Run the rules for the event with index @at - 1. Returns the next index, plus 1; 0: no more. */
__noinline __u32 due_one(__u32 at, struct match *m, __u64 sp)
{
	struct due *due;
	__u32 index = at - 1;

	barrier_var(sp); /* else clang may not pass @sp, if due_match() does not use it */

	if (!m)
		return 0;
	due = bpf_map_lookup_elem(&due_events, &index);
	if (!due)
		return 0;
	due_match(due, m, sp);
	return due->next;
}

__noinline __u32 due_some(__u32 at, struct match *m, __u64 sp)
{
	if (!m)
		return 0;
	for (__u32 i = 0; i < DUE_AT_ONCE && at; i++)
		at = due_one(at, m, sp);
	return at;
}

/* Run the rules for the due events of a task. If it has more than DUE_MOST, this is counted. */
static __always_inline void due_all(__u32 at, struct match *m, __u64 sp)
{
	for (__u32 i = 0; i < DUE_MOST / DUE_AT_ONCE && at; i++)
		at = due_some(at, m, sp);
	if (at)
		__sync_fetch_and_add(&unmeasured, 1);
}

/* Second pass. */
SEC("iter/task")
int due_look(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct due_task key = {};
	__u32 *first, at, zero = 0;
	struct pt_regs *regs;
	struct match *m;

	if (!task)
		return 0;
	key.tid = (__u32)task->pid;
	key.born = task->start_boottime;
	first = bpf_map_lookup_elem(&due_tasks, &key);
	if (!first || task->exit_state)
		return 0;
	at = *first;
	bpf_map_delete_elem(&due_tasks, &key);
	m = bpf_map_lookup_elem(&look_matches, &zero);
	if (!m || !in_scope(task))
		return 0;
	m->self = (__u32)task->tgid == control.self_tgid;
	m->cpu = task_cpu(task);
	m->bank = look.bank & 1;
	match_tasks(m, m->bank, task, task);
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	due_fired = false;
	due_all(at, m, syscall_sp(regs));
	m->now = look.now;
	if (due_fired)
		stacks_send(m, task, false);
	return 0;
}

static long due_rest_of(void *map, const struct due_task *task, const __u32 *first, void *unused)
{
	__u32 at, zero = 0;
	struct match *m = bpf_map_lookup_elem(&look_matches, &zero);

	if (!m || control.scope != FRBPF_SCOPE_ALL)
		return 0;
	m->self = 0;
	m->cpu = 0;
	m->bank = look.bank & 1;
	match_no_tasks(m);
	at = *first;
	/* not due_all(): too many nested calls for the verifier */
	for (__u32 i = 0; i < DUE_MOST && at; i++)
		at = due_one(at, m, 0);
	if (at)
		__sync_fetch_and_add(&unmeasured, 1);
	return 0;
}

/* Third pass: events whose task has ended. They have no subject. */
LOOK_OVER(due_rest, due_tasks, due_rest_of)

#endif
