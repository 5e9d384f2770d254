/* SPDX-License-Identifier: GPL-2.0-only */
/* The values of a task for rules and triggers: one per enum frbpf_field. */
#ifndef FRBPF_TASK_BPF_H
#define FRBPF_TASK_BPF_H

#include "compat.bpf.h"
#include "abi.h"

#define PID_NS_INIT_INUM  0xEFFFFFFCU /* PROC_PID_INIT_INO: the initial pid namespace */
#define MAX_PID_NS_LEVEL  32
#define FRBPF_FIELD_WORDS 2

/* inode of the pid namespace of the daemon: records of perf have pids of that namespace */
const volatile __u32 daemon_pidns = PID_NS_INIT_INUM;

#define BIRTH_SHIFT 22 /* numbers of tasks are below that: PID_MAX_LIMIT */

/* Identifies a task: its number and, if @birth, its start time, since numbers are reused. */
static __always_inline __u64 task_key(__u32 number, __u64 born, bool birth)
{
	return birth ? number | born << BIRTH_SHIFT : number;
}

/* How many times the task was switched out. */
static __always_inline __u64 task_switches(struct task_struct *task)
{
	return task->nvcsw + task->nivcsw;
}

/* The number of @pid in its pid namespace at @level, where 0 is the initial one. */
static __always_inline struct upid *pid_at_level(struct pid *pid, __u32 level)
{
	return (void *)pid + bpf_core_field_offset(struct pid, numbers) +
	       level * bpf_core_type_size(struct upid);
}

/* The number of the struct pid at @addr in the pid namespace of the daemon; 0: outside of it. */
__noinline __u32 pid_in_daemon_pidns(__u64 addr)
{
	struct pid *pid = (struct pid *)addr;
	unsigned int level, inum, i;
	struct pid_namespace *ns;
	struct upid *upid;

	if (!pid)
		return 0;
	level = BPF_CORE_READ(pid, level);
	for (i = 0; i <= MAX_PID_NS_LEVEL; i++) {
		if (i > level)
			break;
		upid = pid_at_level(pid, i);
		ns = BPF_CORE_READ(upid, ns);
		inum = BPF_CORE_READ(ns, ns.inum);
		if (inum == daemon_pidns)
			return BPF_CORE_READ(upid, nr);
	}
	return 0;
}

/* The inode of the namespace in which the task of the struct pid at @addr sees itself. */
static __always_inline __u32 pid_ns_innermost(__u64 addr)
{
	struct pid *pid = (struct pid *)addr;
	struct upid *upid = pid_at_level(pid, BPF_CORE_READ(pid, level));

	return BPF_CORE_READ(upid, ns, ns.inum);
}

/* The pid of the parent process; 0: it is outside of the pid namespace of the daemon. */
static __always_inline __u64 task_ppid(struct task_struct *task)
{
	struct task_struct *parent = task->real_parent;

	if (daemon_pidns == PID_NS_INIT_INUM)
		return (__u32)BPF_CORE_READ(parent, tgid);
	return pid_in_daemon_pidns((__u64)BPF_CORE_READ(parent, group_leader, thread_pid));
}

/* Ids of the cgroup (v2) of a task and of those above, by level, from the root; then 0. */
struct cgroup_ids {
	__u64 level[FRBPF_CGROUP_DEPTH];
};

__noinline int cgroup_ids(__u64 cgroup, struct cgroup_ids *ids)
{
	struct cgroup *cgrp = (struct cgroup *)cgroup;
	__u32 i, level;

	if (!bpf_core_type_exists(struct cgroup) || !cgrp || !ids)
		return 0;
	level = BPF_CORE_READ(cgrp, level);
	for (i = 0; i < FRBPF_CGROUP_DEPTH; i++)
		ids->level[i] = i <= level ? cgroup_ancestor_id(cgrp, i) : 0;
	return 0;
}

/*
 * Does @is_meant(id, @data) hold for the id of the cgroup (v2) at address @cgroup, or of one above
 * it? Each caller is global (__noinline): the verifier walks the loop once.
 */
static __always_inline int cgroup_or_ancestor_is(__u64 cgroup,
						 bool (*is_meant)(__u64 id, __u64 data), __u64 data)
{
	struct cgroup *cgrp = (struct cgroup *)cgroup;
	__u32 i, level;

	if (!bpf_core_type_exists(struct cgroup) || !cgrp)
		return 0;
	level = BPF_CORE_READ(cgrp, level);
	for (i = 0; i < FRBPF_CGROUP_DEPTH; i++) {
		if (i > level)
			break;
		if (is_meant(cgroup_ancestor_id(cgrp, i), data))
			return 1;
	}
	return 0;
}

/* Before a task is hashed and after it is unhashed, it has no thread_pid: its numbers are 0. */
static __always_inline void task_pids(struct task_struct *task, __u64 *ret_pid, __u64 *ret_tid)
{
	if (daemon_pidns == PID_NS_INIT_INUM) {
		*ret_pid = (__u32)task->tgid;
		*ret_tid = (__u32)task->pid;
		return;
	}
	*ret_pid = pid_in_daemon_pidns((__u64)BPF_CORE_READ(task, group_leader, thread_pid));
	*ret_tid = pid_in_daemon_pidns((__u64)BPF_CORE_READ(task, thread_pid));
}

/*
 * @val must be zero: the kernel may not pad names with zeros, and only the bytes before the NUL are
 * copied. The uid is the objective one (real_cred), as in /proc/PID/status. It does not change when
 * a thread temporarily overrides its credentials in the kernel.
 */
static __always_inline void task_fields(struct task_struct *task, __u64 (*val)[FRBPF_FIELD_WORDS],
					__u32 cpu)
{
	bpf_probe_read_kernel_str(val[FRBPF_FIELD_COMM], FRBPF_COMM_LEN, task->comm);
	bpf_probe_read_kernel_str(val[FRBPF_FIELD_PROCESS], FRBPF_COMM_LEN,
				  task->group_leader->comm);
	task_pids(task, val[FRBPF_FIELD_PID], val[FRBPF_FIELD_TID]);
	val[FRBPF_FIELD_UID][0] = task->real_cred->euid.val;
	val[FRBPF_FIELD_CPU][0] = cpu;
	val[FRBPF_FIELD_PPID][0] = task_ppid(task);
	val[FRBPF_FIELD_PRIO][0] = (__s64)task->prio;
}

static __always_inline void task_record(struct frbpf_task *rec,
					const __u64 (*val)[FRBPF_FIELD_WORDS])
{
	rec->pid = val[FRBPF_FIELD_PID][0];
	rec->tid = val[FRBPF_FIELD_TID][0];
	rec->uid = val[FRBPF_FIELD_UID][0];
	rec->pad = 0;
	__builtin_memcpy(rec->comm, val[FRBPF_FIELD_COMM], sizeof(rec->comm));
	__builtin_memcpy(rec->process, val[FRBPF_FIELD_PROCESS], sizeof(rec->process));
}

#endif
