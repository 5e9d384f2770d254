// SPDX-License-Identifier: GPL-2.0-only
/*
 * syscall: how long a system call took, from entry to exit, and whether it failed. The subject is
 * the caller, which is also `current`. Calls of the 32-bit table are ignored: their numbers mean
 * other calls.
 *
 * A call that a signal interrupts may leave the kernel with one of -512 to -516, which programs
 * never see. Without a signal handler the kernel enters it again, by its number or as
 * restart_syscall, and it goes on. With a handler, the error and SA_RESTART decide: the call ends
 * now with EINTR, or is entered again at the same address when the handler returns. See
 * arch_do_signal_or_restart() in the kernel.
 *
 *	BEGUN --sys_exit, -512..--> LEFT --the same call--> BEGUN
 *	LEFT --handler, EINTR--> ended
 *	LEFT --handler, restart--> HANDLED --rt_sigreturn--> RETURNED --the same call--> BEGUN
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "look.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define MAX_ERRNO 4095
#define EINTR	  4
/* include/linux/errno.h */
#define ERESTARTSYS    512 /* restarted after a handler with SA_RESTART */
#define ERESTARTNOINTR 513 /* restarted after any handler */
#define ERESTART_LAST  516 /* ERESTART_RESTARTBLOCK; like 514, not restarted after a handler */
#define SA_RESTART     0x10000000
#define SIG_IGN	       1 /* SIG_DFL is 0 */

#define AF_INET	 2
#define AF_INET6 10

enum call_stage { CALL_BEGUN, CALL_LEFT, CALL_HANDLED, CALL_RETURNED };

struct call {
	__u64 begin; /* 0: no watched call is under way */
	__u64 nr;
	__u64 left; /* ns: when it left the kernel, perhaps to be restarted */
	__u64 ip;   /* address of the call: an exit elsewhere belongs to another call */
	__u64 sp;
	__u32 stage;   /* enum call_stage */
	__u32 restart; /* -ret when it left: ERESTARTSYS ... */
	__u64 seen;    /* ns: when the last look saw it */
};

/* Created at the first watched call of a task, where no lock is held. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct call);
} calls SEC(".maps");

/*
 * The path that the latest call of a task was given, for rules on the paths of pending calls: a
 * look cannot read it from the memory of another task. Only tasks that make such calls have one.
 */
struct call_path {
	__u64 begin; /* `begin` of its call; 0: the path could not be read */
	char text[FRBPF_MATCH_PATH];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct call_path);
} call_paths SEC(".maps");

/*
 * The time since which each call has been watched without a break; set by the daemon. Exits are
 * seen only while the call is watched. So a call that began earlier may have ended unseen.
 */
__u64 watched_since[FRBPF_KEY_MAX];

/* enum frbpf_call_file of each call. */
const volatile __u8 file_args[FRBPF_KEY_MAX];

/* enum frbpf_call_peer of each call. */
const volatile __u8 peers[FRBPF_KEY_MAX];

/* Calls that wait by nature if their first argument is not a file on a disk. */
const volatile __u64 reading[FRBPF_KEY_WORDS];

static __always_inline bool is_watched(__u32 bank, long nr)
{
	/* the unsigned comparison also excludes -1: no call, or one that a tracer cancelled */
	return (unsigned long)nr < FRBPF_KEY_MAX && key_in(control.bank[bank].watched_keys, nr);
}

/* Is this a restart of the call by the kernel? restart_syscall has no address of its own. */
static __always_inline bool call_restarts(const struct call *call, struct pt_regs *regs, long nr)
{
	if (!call->begin || call->stage == CALL_BEGUN)
		return false;
	if (nr == NR_RESTART_SYSCALL)
		return call->stage == CALL_LEFT;
	return call->stage != CALL_HANDLED && call->nr == (__u64)nr &&
	       call->ip == syscall_ip(regs) && call->sp == syscall_sp(regs);
}

/* The address of the path that the call was given; 0: the call takes none. */
static __always_inline unsigned long path_arg(struct pt_regs *regs, __u32 nr)
{
	if (file_args[nr % FRBPF_KEY_MAX] == FRBPF_CALL_PATH_FIRST)
		return syscall_first_arg(regs);
	if (file_args[nr % FRBPF_KEY_MAX] == FRBPF_CALL_PATH_SECOND)
		return syscall_second_arg(regs);
	return 0;
}

/* Copy the path of a call that begins. */
static __always_inline void copy_path(struct task_struct *task, struct pt_regs *regs, __u32 nr,
				      __u64 begin)
{
	unsigned long at = path_arg(regs, nr);
	struct call_path *path;

	if (!at)
		return;
	path = bpf_task_storage_get(&call_paths, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!path) {
		__sync_fetch_and_add(&unmeasured, 1);
		return;
	}
	path->begin = 0;
	if (bpf_probe_read_user_str(path->text, sizeof(path->text), (void *)at) >= 0)
		path->begin = begin;
	else
		__sync_fetch_and_add(&texts_unread, 1);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(sc_enter, struct pt_regs *regs, long nr)
{
	bool watches = nr != NR_RESTART_SYSCALL && nr != NR_RT_SIGRETURN;
	__u32 bank = rules_bank();
	struct task_struct *task;
	struct call *call;
	__u64 begin;

	if (watches && !is_watched(bank, nr))
		return 0;
	task = bpf_get_current_task_btf();
	if (syscall_is_compat(task))
		return 0;
	if (watches)
		call = bpf_task_storage_get(&calls, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	else
		call = bpf_task_storage_get(&calls, task, 0, 0);
	if (!call) {
		if (watches)
			__sync_fetch_and_add(&unmeasured, 1);
		return 0;
	}
	if (nr == NR_RT_SIGRETURN) {
		if (call->stage == CALL_HANDLED)
			call->stage = CALL_RETURNED;
		return 0;
	}
	if (call_restarts(call, regs, nr)) {
		call->stage = CALL_BEGUN;
		return 0;
	}
	call->nr = nr;
	call->ip = syscall_ip(regs);
	call->sp = syscall_sp(regs);
	call->stage = CALL_BEGUN;
	begin = watches ? bpf_ktime_get_ns() : 0;
	if (watches && key_in(control.bank[bank].path_keys, nr))
		copy_path(task, regs, nr, begin);
	call->begin = begin;
	return 0;
}

/* Does the recorded call end here, not another call whose entry was missed? False is counted. */
static __always_inline bool is_same_call(const struct call *call, struct pt_regs *regs, long ret)
{
	if (call->ip == syscall_ip(regs) && call->sp == syscall_sp(regs))
		return true;
	if (!ret && (call->nr == NR_EXECVE || call->nr == NR_EXECVEAT)) /* a new program */
		return true;
	__sync_fetch_and_add(&not_seen, 1);
	return false;
}

/* The open file of descriptor @n; NULL: there is none. */
static __always_inline struct file *file_of(struct task_struct *task, __u32 n)
{
	struct file *file = NULL, **files;
	struct fdtable *fdt;

	fdt = BPF_CORE_READ(task, files, fdt);
	if (n >= BPF_CORE_READ(fdt, max_fds))
		return NULL;
	files = BPF_CORE_READ(fdt, fd);
	bpf_probe_read_kernel(&file, sizeof(file), files + n);
	return file;
}

/*
 * Do calls wait by nature on the file that is the first argument: a tty, a pipe, a socket or an
 * anonymous file such as an eventfd? True if the file is unknown.
 */
static __always_inline bool waits_at_fd(struct task_struct *task, struct pt_regs *regs)
{
	struct file *file = file_of(task, syscall_first_arg(regs));
	__u32 type = BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT;

	return type != S_IFREG && type != S_IFDIR && type != S_IFBLK;
}

/*
 * Note the open file that the call is about, for a trigger to build its path. Pipes, sockets and
 * the like have no path.
 */
static __always_inline void take_file(struct match *m, struct task_struct *task,
				      struct pt_regs *regs, __u32 nr)
{
	struct file *file;
	__u32 type;

	if (file_args[nr % FRBPF_KEY_MAX] != FRBPF_CALL_DESCRIPTOR)
		return;
	file = file_of(task, syscall_first_arg(regs));
	type = BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT;
	if (type == S_IFREG || type == S_IFDIR || type == S_IFBLK || type == S_IFCHR)
		m->file_at = (__u64)file;
}

/*
 * Read the path from the memory of the program if rules look at it; otherwise only a trigger reads
 * it. It is lost after exec, or if that memory is swapped out.
 */
static __always_inline void take_path(struct match *m, struct pt_regs *regs, __u32 nr)
{
	struct path_text *path = &m->path[MATCH_SUBJECT][MATCH_CALL_PATH];
	unsigned long at = path_arg(regs, nr);

	path->text[0] = '\0';
	if (!(control.bank[m->bank & 1].fields & 1U << FRBPF_FIELD_PATH))
		m->path_at = at;
	else if (at && bpf_probe_read_user_str(path->text, FRBPF_MATCH_PATH, (void *)at) >= 0)
		m->text = 1;
	else
		path->text[0] = '\0';
}

/* ---- the other side of a socket ---- */

struct peer {
	__u64 address[2]; /* highest bits first; IPv4 as ::ffff:a.b.c.d */
	__u32 port;
	__u32 family; /* 0: unknown */
};

static __always_inline void peer_set_v4(struct peer *p, __be32 address)
{
	p->address[0] = 0;
	p->address[1] = 0xffffULL << 32 | __builtin_bswap32(address);
}

/* The first members of struct sockaddr_in6, and of sockaddr_in (uapi/linux/in.h, in6.h). */
struct call_sockaddr {
	__u16 family;
	__be16 port;
	__be32 v4;
	__u64 v6[2];
};

/* Read an address from the memory of the program. */
static __always_inline void peer_from_user(struct peer *p, unsigned long at)
{
	struct call_sockaddr a = {};

	/* the rest of an IPv4 address may be missing */
	if (bpf_probe_read_user(&a, 16, (void *)at))
		return;
	if (a.family == AF_INET) {
		peer_set_v4(p, a.v4);
	} else if (a.family == AF_INET6 && !bpf_probe_read_user(&a, sizeof(a), (void *)at)) {
		p->address[0] = __builtin_bswap64(a.v6[0]);
		p->address[1] = __builtin_bswap64(a.v6[1]);
	} else {
		return;
	}
	p->family = a.family;
	p->port = __builtin_bswap16(a.port);
}

/* Get the other side of the socket with descriptor @fd, if it is connected. */
static __always_inline void peer_of_socket(struct peer *p, struct task_struct *task, __u32 fd)
{
	struct file *file = file_of(task, fd);
	struct socket *socket;
	struct sock *sk;
	__u32 family;

	if (!file || (BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT) != S_IFSOCK)
		return;
	socket = BPF_CORE_READ(file, private_data);
	sk = BPF_CORE_READ(socket, sk);
	family = BPF_CORE_READ(sk, __sk_common.skc_family);
	p->port = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	if (!p->port || (family != AF_INET && family != AF_INET6))
		return;
	p->family = family;
	if (family == AF_INET6 && bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		BPF_CORE_READ_INTO(&p->address, sk, __sk_common.skc_v6_daddr);
		p->address[0] = __builtin_bswap64(p->address[0]);
		p->address[1] = __builtin_bswap64(p->address[1]);
	} else {
		peer_set_v4(p, BPF_CORE_READ(sk, __sk_common.skc_daddr));
	}
}

/* Fill in the address of the other side, for a call that has one. @is_here: its task is current. */
static __always_inline void take_peer(struct match *m, struct task_struct *task,
				      struct pt_regs *regs, __u32 nr, __s64 ret, bool is_here)
{
	__u64(*val)[FRBPF_FIELD_WORDS] = m->val[MATCH_SUBJECT];
	__u32 kind = peers[nr % FRBPF_KEY_MAX];
	unsigned long at = 0;
	struct peer p = {};

	if (kind == FRBPF_CALL_NO_PEER)
		return;
	if (kind == FRBPF_CALL_ADDRESS)
		at = syscall_second_arg(regs);
	else if (kind == FRBPF_CALL_SENDTO)
		at = syscall_fifth_arg(regs);
	if (at && is_here)
		peer_from_user(&p, at);
	if (!p.family && kind != FRBPF_CALL_ACCEPTED)
		peer_of_socket(&p, task, syscall_first_arg(regs));
	if (kind == FRBPF_CALL_ACCEPTED && ret >= 0)
		peer_of_socket(&p, task, ret);
	if (!p.family)
		return;
	val[FRBPF_SYSCALL_PEER][0] = p.address[0];
	val[FRBPF_SYSCALL_PEER][1] = p.address[1];
	val[FRBPF_SYSCALL_PORT][0] = p.port;
	val[FRBPF_SYSCALL_FAMILY][0] = p.family;
}

static __always_inline void check_call(struct task_struct *task, struct pt_regs *regs, __u32 nr,
				       long ret, __u64 begin, __u64 now)
{
	__u64 value = (__s64)(now - begin) > 0 ? now - begin : 0;
	__u32 bank = rules_bank(), error;
	struct measured s;
	struct match *m;

	if (!is_watched(bank, nr))
		return;
	error = ret < 0 && ret >= -MAX_ERRNO ? -ret : 0;
	if (rules_below(bank, value) && !(error && key_in(control.bank[bank].fail_keys, nr)))
		return;
	if (begin < watched_since[nr % FRBPF_KEY_MAX])
		return;
	s = (struct measured){
		.now = now, .value = value, .bank = bank, .key = nr, .error = error
	};
	m = match_begin(&s, task);
	if (!m)
		return;
	m->source = FRBPF_SOURCE_SYSCALL;
	m->id = task->pid;
	m->ret = ret;
	m->waits = key_in((const __u64 *)reading, nr) && waits_at_fd(task, regs);
	take_path(m, regs, nr);
	take_file(m, task, regs, nr);
	take_peer(m, task, regs, nr, ret, true);
	m->val[MATCH_SUBJECT][FRBPF_FIELD_RET][0] = ret;
	m->val[MATCH_SUBJECT][FRBPF_FIELD_SYSCALL][0] = nr;
	rules_run_for(m, task, task);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(sc_exit, struct pt_regs *regs, long ret)
{
	long nr = syscall_nr(regs);
	bool restart = nr == NR_RESTART_SYSCALL;
	struct task_struct *task;
	struct call *call;
	__u64 begin, now;

	if (!restart && !is_watched(rules_bank(), nr))
		return 0;
	task = bpf_get_current_task_btf();
	if (syscall_is_compat(task))
		return 0;
	call = bpf_task_storage_get(&calls, task, 0, 0);
	if (!call || !call->begin || (!restart && call->nr != (__u64)nr))
		return 0;
	now = bpf_ktime_get_ns();
	if (ret <= -ERESTARTSYS && ret >= -ERESTART_LAST) {
		call->left = now;
		call->restart = -ret;
		call->stage = CALL_LEFT;
		return 0;
	}
	begin = call->begin;
	call->begin = 0;
	if (!is_same_call(call, regs, ret))
		return 0;
	check_call(task, regs, call->nr, ret, begin, now);
	return 0;
}

/* Is the task still in the call? Not if it runs a signal handler: that may never return. */
static __always_inline bool syscall_lasts(const struct call *call, struct pt_regs *regs)
{
	return call->stage <= CALL_LEFT && call->ip == syscall_ip(regs) &&
	       call->sp == syscall_sp(regs);
}

/* Take the copied path of a pending call. An unknown path matches no condition. */
static __always_inline void take_copied_path(struct match *m, struct task_struct *task, __u64 begin)
{
	struct path_text *path = &m->path[MATCH_SUBJECT][MATCH_CALL_PATH];
	struct call_path *copy;

	path->text[0] = '\0';
	m->no_text = 1;
	if (!(control.bank[m->bank & 1].fields & 1U << FRBPF_FIELD_PATH))
		return;
	copy = bpf_task_storage_get(&call_paths, task, 0, 0);
	if (!copy || copy->begin != begin)
		return;
	if (bpf_probe_read_kernel_str(path->text, FRBPF_MATCH_PATH, copy->text) < 0)
		return;
	m->text = 1;
	m->no_text = 0;
}

/* Look at calls that have not ended: see look.bpf.h. */
SEC("iter/task")
int sc_look(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct pt_regs *regs;
	struct match *m;
	struct call *call;
	__u64 begin;
	__u32 nr;

	if (!task || task->exit_state) /* the task was killed in the call */
		return 0;
	call = bpf_task_storage_get(&calls, task, 0, 0);
	begin = call ? *(volatile __u64 *)&call->begin : 0;
	if (!begin || !look_reaches(begin))
		return 0;
	nr = call->nr;
	if (!is_watched(look.bank & 1, nr) || begin < watched_since[nr % FRBPF_KEY_MAX])
		return 0;
	m = look_match(begin, nr, task);
	if (!m)
		return 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	m->source = FRBPF_SOURCE_SYSCALL;
	take_copied_path(m, task, begin);
	m->waits = key_in((const __u64 *)reading, nr) && waits_at_fd(task, regs);
	take_file(m, task, regs, nr);
	take_peer(m, task, regs, nr, -1, false);
	m->val[MATCH_SUBJECT][FRBPF_FIELD_SYSCALL][0] = nr;
	if (syscall_lasts(call, regs) && *(volatile __u64 *)&call->begin == begin)
		look_run(m, task, &call->seen);
	return 0;
}

static __always_inline bool ends_call(const struct call *call, const struct k_sigaction *ka)
{
	if (call->restart == ERESTARTSYS)
		return !(BPF_CORE_READ(ka, sa.sa_flags) & SA_RESTART);
	return call->restart != ERESTARTNOINTR;
}

/* Only the first handler decides whether the call is restarted. */
SEC("tp_btf/signal_deliver")
int BPF_PROG(sc_signal, int sig, struct kernel_siginfo *info, struct k_sigaction *ka)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct call *call = bpf_task_storage_get(&calls, task, 0, 0);
	struct pt_regs *regs;
	__u64 begin;

	if (!call || !call->begin || call->stage != CALL_LEFT)
		return 0;
	if ((unsigned long)BPF_CORE_READ(ka, sa.sa_handler) <= SIG_IGN)
		return 0;
	if (!ends_call(call, ka)) {
		call->stage = CALL_HANDLED;
		return 0;
	}
	begin = call->begin;
	call->begin = 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	if (is_same_call(call, regs, -EINTR))
		check_call(task, regs, call->nr, -EINTR, begin, call->left);
	return 0;
}
