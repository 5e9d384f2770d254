/* SPDX-License-Identifier: GPL-2.0-only */
/* Fills a struct match, if the subject is in scope. */
#ifndef FRBPF_MATCH_BPF_H
#define FRBPF_MATCH_BPF_H

#include "rates.bpf.h"

static __always_inline bool cgroup_has_id(__u64 id, __u64 wanted)
{
	return id == wanted;
}

/* Is the cgroup (v2) at address @cgroup the one with @id, or below it? */
__noinline int cgroup_below(__u64 cgroup, __u64 id)
{
	return cgroup_or_ancestor_is(cgroup, cgroup_has_id, id);
}

static __always_inline bool is_in_scope_cgroup(struct task_struct *task)
{
	return bpf_core_field_exists(task->cgroups) &&
	       cgroup_below((__u64)BPF_CORE_READ(task, cgroups, dfl_cgrp), control.scope_cgroup);
}

/*
 * Is the task in the scope of the rules? If the subject may end before the measurement does, the
 * source calls this early, while the task exists.
 */
static __always_inline bool in_scope(struct task_struct *task)
{
	if (control.scope == FRBPF_SCOPE_TASKS)
		return bpf_task_storage_get(&scope, task, 0, 0);
	if (control.scope == FRBPF_SCOPE_CGROUP)
		return is_in_scope_cgroup(task);
	return true;
}

/*
 * The same for a task known only by its address or, below, by its number in the initial pid
 * namespace. If the scope is a cgroup, every number counts as in scope: the cgroup of a number
 * cannot be looked up.
 */
static __always_inline bool address_in_scope(__u64 task)
{
	if (control.scope == FRBPF_SCOPE_TASKS)
		return bpf_map_lookup_elem(&scope_keys, &task);
	if (control.scope == FRBPF_SCOPE_CGROUP)
		return is_in_scope_cgroup((struct task_struct *)task);
	return true;
}

static __always_inline bool number_in_scope(__u64 tid)
{
	if (control.scope == FRBPF_SCOPE_TASKS)
		return bpf_map_lookup_elem(&scope_keys, &tid);
	return true;
}

static __always_inline void match_cgroups(struct match *m, struct task_struct *subject,
					  struct task_struct *current)
{
	if (!bpf_core_field_exists(subject->cgroups)) /* CONFIG_CGROUPS=n */
		return;
	m->own_cgroup = BPF_CORE_READ(subject, cgroups, dfl_cgrp, kn, id);
	cgroup_ids((__u64)BPF_CORE_READ(subject, cgroups, dfl_cgrp), &m->cgroup[MATCH_SUBJECT]);
	if (subject == current)
		m->cgroup[MATCH_CURRENT] = m->cgroup[MATCH_SUBJECT];
	else
		cgroup_ids((__u64)BPF_CORE_READ(current, cgroups, dfl_cgrp),
			   &m->cgroup[MATCH_CURRENT]);
}

static __always_inline void match_no_paths(struct match *m)
{
	m->path[MATCH_SUBJECT][MATCH_CGROUP_PATH].text[0] = '\0';
	m->path[MATCH_SUBJECT][MATCH_EXE_PATH].text[0] = '\0';
	m->path[MATCH_CURRENT][MATCH_CGROUP_PATH].text[0] = '\0';
	m->path[MATCH_CURRENT][MATCH_EXE_PATH].text[0] = '\0';
}

/* Clear all values of tasks. */
static __always_inline void match_no_tasks(struct match *m)
{
	match_no_paths(m);
	__builtin_memset(m->val[MATCH_SUBJECT], 0, sizeof(m->val[0][0]) * FRBPF_FIELD_VALUE);
	__builtin_memset(m->val[MATCH_CURRENT], 0, sizeof(m->val[0]));
	/* for more than 1 KB the compiler would call memset(), which BPF lacks */
	barrier();
	__builtin_memset(m->cgroup, 0,
			 offsetof(struct match, now) - offsetof(struct match, cgroup));
	m->alone = 0;
	m->lacks_tasks = 0;
}

static __always_inline void task_paths(struct match *m, __u32 which, struct task_struct *task,
				       __u32 fields)
{
	struct mm_struct *mm;
	struct file *exe;

	if (fields & (1U << FRBPF_FIELD_CGROUP_PATH) && bpf_core_field_exists(task->cgroups))
		cgroup_path((__u64)BPF_CORE_READ(task, cgroups, dfl_cgrp),
			    &m->path[which][MATCH_CGROUP_PATH]);
	/* a kernel thread may use the mm of another process for a while */
	if (!(fields & (1U << FRBPF_FIELD_EXE)) || BPF_CORE_READ(task, flags) & PF_KTHREAD)
		return;
	mm = BPF_CORE_READ(task, mm);
	exe_path((__u64)mm, &m->path[which][MATCH_EXE_PATH]);
	exe = BPF_CORE_READ(mm, exe_file);
	m->val[which][FRBPF_FIELD_EXE][0] = BPF_CORE_READ(exe, f_inode, i_ino);
	m->val[which][FRBPF_FIELD_EXE][1] = BPF_CORE_READ(exe, f_inode, i_sb, s_dev);
}

/* Set what was measured, and clear the other values of the event. */
static __always_inline void match_measured(struct match *m, const struct measured *s)
{
	__builtin_memset(m->val[MATCH_SUBJECT][FRBPF_FIELD_VALUE], 0,
			 sizeof(m->val[0][0]) * (FRBPF_FIELD_MAX - FRBPF_FIELD_VALUE));
	m->val[MATCH_SUBJECT][FRBPF_FIELD_VALUE][0] = s->value;
	m->now = s->now;
	m->value = s->value;
	m->ret = 0;
	m->id = 0;
	m->key = s->key;
	m->cpu = bpf_get_smp_processor_id();
	m->self = s->self;
	m->bank = s->bank;
	m->error = s->error;
	m->waits = 0;
	m->fired = 0;
	m->counted = 0;
	m->learnt = 0;
	m->parts = 0;
	m->first = 0;
	m->lacks_tasks = 1;
	m->n_args = 0;
	m->is_pending = 0;
	m->text = 0;
	m->no_text = 0;
	m->path_at = 0;
	m->file_at = 0;
}

/* Begin a match in `match_room`. Never NULL, but the verifier does not know that. */
static __always_inline struct match *match_new(const struct measured *s)
{
	__u32 zero = 0;
	struct match *m = bpf_map_lookup_elem(&match_room, &zero);

	if (m)
		match_measured(m, s);
	return m;
}

/* Does not use bpf_get_current_pid_tgid(), which takes twice as long. */
static __always_inline bool is_own_task(void)
{
	return (__u32)bpf_get_current_task_btf()->tgid == control.self_tgid;
}

/*
 * Begin a match for an event above the lowest threshold. The source then adds its own values. NULL:
 * the subject is not in scope.
 */
static __always_inline struct match *match_begin(struct measured *s, struct task_struct *subject)
{
	if (!in_scope(subject))
		return NULL;
	s->self |= (__u32)subject->tgid == control.self_tgid;
	return match_new(s);
}

/* The same for an event without a subject. */
static __always_inline struct match *match_begin_no_subject(const struct measured *s)
{
	return in_scope(bpf_get_current_task_btf()) ? match_new(s) : NULL;
}

static __always_inline bool rules_look_at_cgroups(__u32 bank)
{
	return control.bank[bank & 1].fields & (1U << FRBPF_FIELD_CGROUP);
}

/* Fill in paths that rules need. */
static __always_inline void match_paths(struct match *m, __u32 bank, struct task_struct *subject,
					struct task_struct *current)
{
	__u32 fields = control.bank[bank & 1].fields;

	if (!(fields & (1U << FRBPF_FIELD_CGROUP_PATH | 1U << FRBPF_FIELD_EXE)))
		return;
	m->alone = subject == current;
	task_paths(m, MATCH_SUBJECT, subject, fields);
	if (subject != current)
		task_paths(m, MATCH_CURRENT, current, fields);
}

static __always_inline void match_tasks(struct match *m, __u32 bank, struct task_struct *subject,
					struct task_struct *current)
{
	match_no_tasks(m);
	m->process[0] = (__u32)subject->tgid;
	m->process[1] = subject->group_leader->start_boottime;
	m->thread[0] = (__u32)subject->pid;
	m->thread[1] = subject->start_boottime;
	task_fields(subject, m->val[MATCH_SUBJECT], m->cpu);
	if (subject == current)
		__builtin_memcpy(m->val[MATCH_CURRENT], m->val[MATCH_SUBJECT],
				 sizeof(m->val[MATCH_CURRENT]));
	else
		task_fields(current, m->val[MATCH_CURRENT], m->cpu);
	if (rules_look_at_cgroups(bank))
		match_cgroups(m, subject, current);
	match_paths(m, bank, subject, current);
}

/* Is a dump being written, or was one until just now? */
static __always_inline bool is_dump_written(__u64 now)
{
	return suppressed_until(FRBPF_SUPPRESS_SELF, now);
}

#endif
