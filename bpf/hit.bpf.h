/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the generic sources, whose programs serve any tracepoint. They extract values of the
 * event as struct frbpf_extract describes, and know their subject only by its address or number.
 */
#ifndef FRBPF_HIT_BPF_H
#define FRBPF_HIT_BPF_H

#include "own_data.bpf.h"
#include "prefilter.bpf.h"

/* Arguments of the tracepoint as its programs get them: each extended with zeros to a word. */
#define HIT_ARGS 16 /* a power of two: an index is masked for the verifier */
struct hit_args {
	__u64 v[HIT_ARGS];
};
_Static_assert(HIT_ARGS >= FRBPF_TP_ARGS, "room for all arguments");

/* The subject of a hit. */
struct hit_subject {
	__u64 task; /* its address; 0: known by its number, or there is no subject */
	__u64 pid;
};

/*
 * Working memory for one hit, per CPU. Before Linux 6.1, an interrupt may hit the tracepoint while
 * its program runs. Such a hit is dropped and counted.
 */
struct hit {
	__u32 busy;
	__u32 pad;
	struct hit_args args;
	struct hit_subject subject;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct hit);
} hits SEC(".maps");

/*
 * Number of arguments of the tracepoint, set at load. The kernel does not attach a program that
 * could read more, so reads beyond the last must be dead code for the verifier.
 */
const volatile __u32 n_args;

/* Index of the argument that is the subject; -1: none, see hit_subject(). */
const volatile __s32 subject_arg = -1;
/* Index of the argument that is the number of the subject, if none is its task; -1: none. */
const volatile __s32 subject_pid_arg = -1;
/* Kernel threads that write our dumps to disk hit this tracepoint, too. */
const volatile bool is_disturbed;
/* Which arguments tell whose data a kernel thread writes */
struct frbpf_own_at own_at;
/* Hits of the tracepoint have no subject. */
const volatile bool subject_nobody;

static __always_inline struct hit *hit_begin(void)
{
	__u32 zero = 0;
	struct hit *hit = bpf_map_lookup_elem(&hits, &zero);

	if (!hit)
		return NULL;
	if (hit->busy) {
		__sync_fetch_and_add(&unmeasured, 1);
		return NULL;
	}
	hit->busy = 1;
	barrier();
	return hit;
}

static __always_inline void hit_end(struct hit *hit)
{
	barrier();
	hit->busy = 0;
}

#define HIT_TAKE(i_)                                                                               \
	do {                                                                                       \
		if (n > (i_))                                                                      \
			args->v[i_] = *(volatile const __u64 *)&ctx[i_];                           \
	} while (0)

/* Copy the first @n arguments. The verifier knows @n as a constant, the compiler may not. */
static __always_inline void hit_take(struct hit_args *args, const __u64 *ctx, __u32 n)
{
	HIT_TAKE(0);
	HIT_TAKE(1);
	HIT_TAKE(2);
	HIT_TAKE(3);
	HIT_TAKE(4);
	HIT_TAKE(5);
	HIT_TAKE(6);
	HIT_TAKE(7);
	HIT_TAKE(8);
	HIT_TAKE(9);
	HIT_TAKE(10);
	HIT_TAKE(11);
}

/* Read a number with its own size: a wider load right after a narrower store stalls. */
#define READ_NUMBER(type_)                                                                         \
	({                                                                                         \
		type_ v_;                                                                          \
		bpf_probe_read_kernel(&v_, sizeof(v_), (void *)addr); /* on failure: 0 */          \
		v_;                                                                                \
	})

static __always_inline __u64 read_number(const struct frbpf_extract *x, __u64 addr)
{
	switch (x->size) {
	case 1:
		return READ_NUMBER(__u8);
	case 2:
		return READ_NUMBER(__u16);
	case 4:
		return READ_NUMBER(__u32);
	case 8:
		return READ_NUMBER(__u64);
	}
	return 0;
}

static __always_inline __u64 trim_number(const struct frbpf_extract *x, __u64 v)
{
	__u32 left = x->shift_left % 64, right = x->shift_right % 64;

	v <<= left;
	if (x->is_signed)
		return (__s64)v >> right;
	v >>= right;
	/* conditions compare signed numbers: larger ones become the largest signed number */
	return (__s64)v < 0 ? ~0ULL >> 1 : v;
}

static __always_inline __u64 swap_number(const struct frbpf_extract *x, __u64 v)
{
	return __builtin_bswap64(v) >> x->shift_right % 64;
}

struct hit_value {
	__u64 word[2];
};

/* Extract the value @x from an argument with value @v; 0 or "" if it cannot be read. */
__noinline int arg_extract_from(const struct frbpf_extract *x, __u64 v, struct hit_value *ret)
{
	__u64 addr = v, word[2] = { 0, 0 };
	__u32 i;

	if (!x || !ret || x->kind == FRBPF_EXTRACT_NONE)
		return 0;
	for (i = 0; i < FRBPF_MAX_STEPS; i++) {
		if (i >= x->n_steps)
			break;
		addr = v + x->offset[i];
		if (i + 1 >= x->n_steps)
			break;
		v = 0;
		bpf_probe_read_kernel(&v, sizeof(v), (void *)addr);
		if (!v) {
			addr = 0;
			break;
		}
	}
	switch (x->kind) {
	case FRBPF_EXTRACT_NUMBER:
		word[0] = trim_number(x, x->n_steps ? read_number(x, addr) : v);
		break;
	case FRBPF_EXTRACT_BE:
		word[0] = swap_number(x, x->n_steps ? read_number(x, addr) : v);
		break;
	case FRBPF_EXTRACT_STRING:
		bpf_probe_read_kernel_str(word, FRBPF_COMM_LEN, (void *)addr);
		break;
	case FRBPF_EXTRACT_IPV4:
		word[0] = __builtin_bswap64(x->n_steps ? read_number(x, addr) : v);
		break;
	case FRBPF_EXTRACT_IPV6:
		bpf_probe_read_kernel(word, sizeof(word), (void *)addr);
		word[0] = __builtin_bswap64(word[0]);
		word[1] = __builtin_bswap64(word[1]);
		break;
	}
	ret->word[0] = word[0];
	ret->word[1] = word[1];
	return 0;
}

static __always_inline void arg_extract(const struct frbpf_extract *x, const struct hit_args *args,
					struct hit_value *ret)
{
	arg_extract_from(x, args->v[x->arg % HIT_ARGS], ret);
}

#define HIT_ARG(i_)                                                                                \
	do {                                                                                       \
		if (n_args > (i_) && arg == (i_))                                                  \
			asm volatile("%0 = *(u64 *)(%1 + %2)"                                      \
				     : "=r"(v)                                                     \
				     : "r"(ctx), "i"((i_) * sizeof(__u64)));                       \
	} while (0)

/* Get one argument; see hit_take(). */
static __always_inline __u64 hit_arg(const __u64 *ctx, __u32 arg)
{
	__u64 v = 0;

	HIT_ARG(0);
	HIT_ARG(1);
	HIT_ARG(2);
	HIT_ARG(3);
	HIT_ARG(4);
	HIT_ARG(5);
	HIT_ARG(6);
	HIT_ARG(7);
	HIT_ARG(8);
	HIT_ARG(9);
	HIT_ARG(10);
	HIT_ARG(11);
	return v;
}

/* Is the subject the task that runs? */
static __always_inline bool hit_of_current(void)
{
	return subject_arg < 0 && subject_pid_arg < 0 && !subject_nobody;
}

/* May the hit pass the prefilter? Called before anything is copied, so some values are unknown. */
static __always_inline bool hit_passes(__u32 bank, const struct frbpf_extracts *xs,
				       const __u64 *ctx)
{
	struct hit_value value = {};
	__u32 i = prefilter_arg(bank);

	if (i < FRBPF_MAX_ARGS) {
		const struct frbpf_extract *x = &xs->slot[i];
		__u64 v = hit_arg(ctx, x->arg);

		/* fast path: most numbers are an argument, or are where an argument points */
		if (x->kind == FRBPF_EXTRACT_NUMBER && x->n_steps < 2) {
			if (x->n_steps)
				v = read_number(x, v + x->offset[0]);
			v = trim_number(x, v);
		} else {
			arg_extract_from(x, v, &value);
			v = value.word[0];
		}
		if (!prefilter_takes_arg(bank, v))
			return false;
	}
	/* nothing is known about other subjects yet */
	return !hit_of_current() || prefilter_takes_current(bank);
}

/* Extract the values of the event from @args into @m. */
static __always_inline void hit_extract(const struct frbpf_extracts *xs,
					const struct hit_args *args, struct match *m)
{
	__u32 i;

	for (i = 0; i < FRBPF_MAX_ARGS; i++) {
		if (i >= xs->n)
			break;
		arg_extract(&xs->slot[i], args, (void *)m->val[MATCH_SUBJECT][FRBPF_FIELD_ARG + i]);
	}
}

/* Is the hit about the disk that dumps go to, or is its disk unknown? */
static __always_inline bool hit_may_be_of_own_disk(const struct hit *hit)
{
	struct hit_value disk = {};

	if (own_at.disk.kind == FRBPF_EXTRACT_NONE)
		return true;
	arg_extract(&own_at.disk, &hit->args, &disk);
	return !disk.word[0] || is_own_disk(disk.word[0]);
}

/* May the data that the hit is about be ours? */
static __always_inline bool hit_may_be_of_own_data(const struct hit *hit)
{
	struct hit_value value = {};

	if (own_at.bio.kind != FRBPF_EXTRACT_NONE) {
		arg_extract(&own_at.bio, &hit->args, &value);
		return bio_may_be_ours(value.word[0]);
	}
	if (own_at.inode.kind == FRBPF_EXTRACT_NONE)
		return true;
	arg_extract(&own_at.inode, &hit->args, &value);
	return !value.word[0] || inode_may_be_ours(value.word[0]);
}

/* Is the subject our own process, or a kernel thread that works for us? */
static __always_inline __u32 hit_is_own(struct match *m, const struct hit *hit)
{
	struct task_struct *task = (struct task_struct *)hit->subject.task;

	if (!task)
		return (__u32)hit->subject.pid == control.self_tgid;
	if (!is_disturbed)
		return subject_arg < 0 ? is_own_task()
				       : (__u32)BPF_CORE_READ(task, tgid) == control.self_tgid;
	if (!m->now)
		m->now = bpf_ktime_get_ns();
	if ((__u32)BPF_CORE_READ(task, tgid) == control.self_tgid)
		return true;
	/* a kernel thread may write for us; hits of other processes are never ours */
	return BPF_CORE_READ(task, flags) & PF_KTHREAD && is_dump_written(m->now) &&
	       hit_may_be_of_own_disk(hit) && hit_may_be_of_own_data(hit);
}

/* task_fields() for a task known by its address only; also sets its keys for cooldowns. */
__noinline int subject_fields(__u64 addr, struct match *m)
{
	struct task_struct *task = (struct task_struct *)addr, *leader, *parent;
	__u64(*val)[FRBPF_FIELD_WORDS];

	if (!m || !addr)
		return 0;
	val = m->val[MATCH_SUBJECT];
	leader = BPF_CORE_READ(task, group_leader);
	parent = BPF_CORE_READ(task, real_parent);
	bpf_probe_read_kernel_str(val[FRBPF_FIELD_COMM], FRBPF_COMM_LEN, task->comm);
	bpf_probe_read_kernel_str(val[FRBPF_FIELD_PROCESS], FRBPF_COMM_LEN, leader->comm);
	m->process[0] = (__u32)BPF_CORE_READ(task, tgid);
	m->process[1] = BPF_CORE_READ(leader, start_boottime);
	m->thread[0] = (__u32)BPF_CORE_READ(task, pid);
	m->thread[1] = BPF_CORE_READ(task, start_boottime);
	if (daemon_pidns == PID_NS_INIT_INUM) {
		val[FRBPF_FIELD_PID][0] = m->process[0];
		val[FRBPF_FIELD_TID][0] = m->thread[0];
		val[FRBPF_FIELD_PPID][0] = (__u32)BPF_CORE_READ(parent, tgid);
	} else {
		val[FRBPF_FIELD_PID][0] =
			pid_in_daemon_pidns((__u64)BPF_CORE_READ(leader, thread_pid));
		val[FRBPF_FIELD_TID][0] =
			pid_in_daemon_pidns((__u64)BPF_CORE_READ(task, thread_pid));
		val[FRBPF_FIELD_PPID][0] =
			pid_in_daemon_pidns((__u64)BPF_CORE_READ(parent, group_leader, thread_pid));
	}
	val[FRBPF_FIELD_UID][0] = BPF_CORE_READ(task, real_cred, euid.val);
	val[FRBPF_FIELD_PRIO][0] = (__s64)BPF_CORE_READ(task, prio);
	val[FRBPF_FIELD_CPU][0] = m->cpu;
	return 0;
}

/* Set a subject of which only the number in the initial pid namespace is known. */
static __always_inline void subject_pid(struct match *m, __u64 pid)
{
	if (daemon_pidns == PID_NS_INIT_INUM) {
		m->val[MATCH_SUBJECT][FRBPF_FIELD_PID][0] = (__u32)pid;
		m->val[MATCH_SUBJECT][FRBPF_FIELD_TID][0] = (__u32)pid;
	}
	m->val[MATCH_SUBJECT][FRBPF_FIELD_CPU][0] = m->cpu;
	m->process[0] = m->thread[0] = (__u32)pid;
}

static __always_inline struct hit_subject hit_subject(const struct hit_args *args)
{
	struct hit_subject s = { 0 };

	if (subject_arg >= 0)
		s.task = args->v[(__u32)subject_arg % HIT_ARGS];
	else if (subject_pid_arg >= 0)
		s.pid = args->v[(__u32)subject_pid_arg % HIT_ARGS];
	else if (!subject_nobody)
		s.task = bpf_get_current_task();
	return s;
}

static __always_inline bool hit_in_scope(struct hit_subject s)
{
	return s.task ? address_in_scope(s.task) : number_in_scope(s.pid);
}

static __always_inline bool hit_current_in_scope(void)
{
	return control.scope == FRBPF_SCOPE_ALL || address_in_scope(bpf_get_current_task());
}

/* The subject is the task that runs. */
static __always_inline void subject_current(struct match *m, struct task_struct *current)
{
	__builtin_memcpy(m->val[MATCH_SUBJECT], m->val[MATCH_CURRENT],
			 sizeof(m->val[0][0]) * FRBPF_FIELD_VALUE);
	m->process[0] = (__u32)current->tgid;
	m->process[1] = current->group_leader->start_boottime;
	m->thread[0] = (__u32)current->pid;
	m->thread[1] = current->start_boottime;
}

/*
 * Fill in the values of the tasks of a hit. A global function, so that the verifier does not walk
 * the code after the call once for each kind of subject.
 */
__noinline int hit_tasks(struct match *m, const struct hit *hit)
{
	struct task_struct *current = bpf_get_current_task_btf();
	__u64 task;
	__u32 bank;

	if (!m || !hit)
		return 0;
	task = hit->subject.task;
	bank = m->bank & 1;
	match_no_tasks(m);
	task_fields(current, m->val[MATCH_CURRENT], m->cpu);
	if (!task)
		subject_pid(m, hit->subject.pid);
	else if (task == bpf_get_current_task())
		subject_current(m, current);
	else
		subject_fields(task, m);
	if (task && control.bank[bank].fields & (1U << FRBPF_FIELD_CGROUP))
		match_cgroups(m, (struct task_struct *)task,
			      (struct task_struct *)bpf_get_current_task());
	if (task)
		match_paths(m, bank, (struct task_struct *)task,
			    (struct task_struct *)bpf_get_current_task());
	return 0;
}

/* After rules_run(): send the stack of the subject, if it is the task that runs. */
static __always_inline void hit_stacks(const struct match *m)
{
	struct task_struct *current = bpf_get_current_task_btf();

	if (m->fired && m->process[1] && m->thread[0] == (__u32)current->pid)
		stacks_send(m, current, true);
}

/* Run the rules for a hit whose values are in @m. */
static __always_inline void hit_run(struct match *m, struct hit *hit, __u32 source)
{
	hit->subject = hit_subject(&hit->args);
	if (!hit_in_scope(hit->subject))
		return;
	m->source = source;
	m->self = hit_is_own(m, hit);
	if (rules_run(m)) {
		hit_tasks(m, hit);
		rules_run(m);
	}
	hit_stacks(m);
}

#endif
