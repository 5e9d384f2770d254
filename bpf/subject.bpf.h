/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A subject that may have ended when its wait is over: the values of the task are saved when the
 * wait begins. This happens for each event, so names are copied with the bytes after their NUL.
 * Those bytes are cut off only for the few events that rules evaluate.
 */
#ifndef FRBPF_SUBJECT_BPF_H
#define FRBPF_SUBJECT_BPF_H

#include "rules.bpf.h"

struct subject {
	__u64 comm[2];
	__u64 process[2];
	__u64 process_born; /* see struct frbpf_key */
	__u64 thread_born;
	__u64 own_cgroup;
	__u32 tgid, tid; /* in the initial namespace */
	__u32 ns_pid, ns_tid;
	__u32 uid;
	__u32 ppid;
	__s32 prio;
	__u32 cpu;
};

/* Direct loads, without a helper call: the verifier knows the type of the task. */
static __always_inline void name_save(__u64 *to, struct task_struct *task)
{
	to[0] = *(__u64 *)&task->comm[0];
	to[1] = *(__u64 *)&task->comm[8];
}

/*
 * Save the subject. Its cgroups (to @cgroups) and parent are saved only if a rule of the bank needs
 * them, since they cost cache misses. A rule loaded while the subject waits does not have them.
 */
static __always_inline void subject_save(struct subject *s, struct task_struct *task, __u32 bank,
					 struct cgroup_ids *cgroups)
{
	struct task_struct *leader = task->group_leader;
	struct cgroup *cgrp;
	__u64 pid, tid;

	name_save(s->comm, task);
	name_save(s->process, leader);
	task_pids(task, &pid, &tid);
	s->ns_pid = pid;
	s->ns_tid = tid;
	s->tgid = task->tgid;
	s->tid = task->pid;
	s->process_born = leader->start_boottime;
	s->thread_born = task->start_boottime;
	s->uid = task->real_cred->euid.val;
	s->ppid = 0;
	if (control.bank[bank & 1].fields & (1U << FRBPF_FIELD_PPID))
		s->ppid = daemon_pidns == PID_NS_INIT_INUM ? task->real_parent->tgid
							   : task_ppid(task);
	s->prio = task->prio;
	s->cpu = bpf_get_smp_processor_id();
	s->own_cgroup = 0;
	if (!rules_look_at_cgroups(bank) || !bpf_core_field_exists(task->cgroups))
		return;
	cgrp = BPF_CORE_READ(task, cgroups, dfl_cgrp);
	s->own_cgroup = BPF_CORE_READ(cgrp, kn, id);
	cgroup_ids((__u64)cgrp, cgroups);
}

/* Fill in a subject from subject_save(). Its `cpu` is the one where it was saved. */
static __always_inline void match_saved(struct match *m, const struct subject *s,
					const struct cgroup_ids *cgroups)
{
	__u64(*val)[FRBPF_FIELD_WORDS];

	match_no_tasks(m);
	m->process[0] = s->tgid;
	m->process[1] = s->process_born;
	m->thread[0] = s->tid;
	m->thread[1] = s->thread_born;
	m->own_cgroup = s->own_cgroup;
	val = m->val[MATCH_SUBJECT];
	bpf_probe_read_kernel_str(val[FRBPF_FIELD_COMM], FRBPF_COMM_LEN, s->comm);
	bpf_probe_read_kernel_str(val[FRBPF_FIELD_PROCESS], FRBPF_COMM_LEN, s->process);
	val[FRBPF_FIELD_PID][0] = s->ns_pid;
	val[FRBPF_FIELD_TID][0] = s->ns_tid;
	val[FRBPF_FIELD_UID][0] = s->uid;
	val[FRBPF_FIELD_PPID][0] = s->ppid;
	val[FRBPF_FIELD_PRIO][0] = (__s64)s->prio;
	val[FRBPF_FIELD_CPU][0] = s->cpu;
	/* otherwise @cgroups is left from an earlier user of the entry */
	if (rules_look_at_cgroups(m->bank) && s->own_cgroup)
		m->cgroup[MATCH_SUBJECT] = *cgroups;
}

/* rules_run_for() with a saved subject. */
static __always_inline void rules_run_saved(struct match *m, const struct subject *s,
					    const struct cgroup_ids *cgroups)
{
	struct task_struct *current = bpf_get_current_task_btf();

	if (!rules_run(m))
		return;
	match_saved(m, s, cgroups);
	task_fields(current, m->val[MATCH_CURRENT], m->cpu);
	if (rules_look_at_cgroups(m->bank) && bpf_core_field_exists(current->cgroups))
		cgroup_ids((__u64)BPF_CORE_READ(current, cgroups, dfl_cgrp),
			   &m->cgroup[MATCH_CURRENT]);
	rules_run(m);
}

/* The same for a pending event: the subject also stands for `current`. */
static __always_inline void rules_run_saved_pending(struct match *m, const struct subject *s,
						    const struct cgroup_ids *cgroups)
{
	m->cpu = s->cpu;
	if (!rules_run(m))
		return;
	match_saved(m, s, cgroups);
	__builtin_memcpy(m->val[MATCH_CURRENT], m->val[MATCH_SUBJECT],
			 sizeof(m->val[0][0]) * FRBPF_FIELD_VALUE);
	m->cgroup[MATCH_CURRENT] = m->cgroup[MATCH_SUBJECT];
	rules_run(m);
}

#endif
