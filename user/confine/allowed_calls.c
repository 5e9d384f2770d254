// SPDX-License-Identifier: GPL-2.0-only
/*
 * The lists have what the sources call, and what the C library, libelf, libdw, libbpf and jansson
 * call on x86-64 and arm64. Newer versions of a call are listed too, for newer libraries. Left out
 * on purpose are starting programs or processes, changing user, mounting, tracing, device nodes and
 * modules. So are all sockets other than local ones and netlink.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <termios.h>
#include <ucontext.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "confine/allowed_calls.h"
#include "rules/when.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

/* Calls that newer ones replace. arm64 never had any of them. */
static const int old_reading_calls[] = {
#ifdef SYS_open
	SYS_stat,     SYS_lstat, SYS_poll,	SYS_access,	SYS_dup2, SYS_getdents,
	SYS_readlink, SYS_time,	 SYS_getrlimit, SYS_arch_prctl, /* shadow stacks of threads */
#endif
};

static const int old_calls[] = {
#ifdef SYS_open
	SYS_open,	  SYS_pipe,    SYS_select, SYS_rename,	   SYS_mkdir,	 SYS_rmdir,
	SYS_link,	  SYS_unlink,  SYS_chmod,  SYS_epoll_wait, SYS_signalfd, SYS_epoll_create,
	SYS_inotify_init, SYS_eventfd, SYS_alarm,  SYS_creat,
#endif
};

/* Calls on open files, or that only read. */
static const int reading_calls[] = {
	SYS_read,	  SYS_write,	  SYS_close,   SYS_pread64,	    SYS_pwrite64,
	SYS_readv,	  SYS_writev,	  SYS_preadv,  SYS_preadv2,	    SYS_lseek,
	SYS_fcntl,	  SYS_dup,	  SYS_dup3,    SYS_close_range,	    SYS_fstat,
	SYS_newfstatat,	  SYS_statx,	  SYS_fstatfs, SYS_statfs,	    SYS_getdents64,
	SYS_faccessat,	  SYS_readlinkat, SYS_getcwd,  SYS_ftruncate,	    SYS_fadvise64,
	SYS_memfd_create, SYS_ppoll,	  SYS_fsync,   SYS_sync_file_range,
#ifdef SYS_faccessat2
	SYS_faccessat2,
#endif
};

static const int io_calls[] = {
	SYS_pwritev,
	SYS_pwritev2,
	SYS_pipe2,
	SYS_openat,
	SYS_openat2,
	SYS_mkdirat,
	SYS_unlinkat,
	SYS_renameat,
	SYS_renameat2,
	SYS_linkat,
	SYS_fchmod,
	SYS_fchmodat,
	SYS_umask,
	SYS_fallocate,
	SYS_fdatasync,
	SYS_flock,
	SYS_copy_file_range,
	SYS_sendfile,
	SYS_splice,
	SYS_utimensat,
	SYS_name_to_handle_at,
	SYS_inotify_init1,
	SYS_inotify_add_watch,
	SYS_inotify_rm_watch,
	SYS_epoll_create1,
	SYS_epoll_ctl,
	SYS_epoll_pwait,
	SYS_pselect6,
	SYS_eventfd2,
	SYS_signalfd4,
	SYS_timerfd_create,
	SYS_timerfd_settime,
	SYS_timerfd_gettime,
	SYS_chdir,
	SYS_fchdir,
#ifdef SYS_epoll_pwait2
	SYS_epoll_pwait2,
#endif
#ifdef SYS_fchmodat2
	SYS_fchmodat2,
#endif
};

static const int memory_calls[] = {
	SYS_mmap,
	SYS_munmap,
	SYS_mremap,
	SYS_mprotect,
	SYS_madvise,
	SYS_brk,
	SYS_mlock,
	SYS_mlock2,
	SYS_munlock,
	SYS_mlockall,
	SYS_munlockall,
	SYS_mincore,
	SYS_msync,
	SYS_membarrier,
#ifdef SYS_map_shadow_stack
	SYS_map_shadow_stack,
#endif
};

static const int thread_calls[] = {
	SYS_futex,
	SYS_exit,
	SYS_exit_group,
	SYS_gettid,
	SYS_getpid,
	SYS_getppid,
	SYS_set_robust_list,
	SYS_get_robust_list,
	SYS_set_tid_address,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_rt_sigtimedwait,
	SYS_rt_sigpending,
	SYS_sigaltstack,
	SYS_restart_syscall,
	SYS_sched_yield,
	SYS_sched_getaffinity,
	SYS_sched_setaffinity,
	SYS_sched_setscheduler,
	SYS_sched_getscheduler,
	SYS_sched_getparam,
	SYS_sched_setparam,
	SYS_sched_setattr,
	SYS_sched_getattr,
	SYS_sched_get_priority_max,
	SYS_sched_get_priority_min,
	SYS_setpriority,
	SYS_getpriority,
	SYS_getcpu,
	SYS_nanosleep,
	SYS_clock_nanosleep,
	SYS_clock_gettime,
	SYS_clock_getres,
	SYS_gettimeofday,
	SYS_times,
	SYS_setitimer,
	SYS_wait4,
	SYS_waitid,
#ifdef SYS_rseq
	SYS_rseq,
#endif
#ifdef SYS_futex_waitv
	SYS_futex_waitv,
#endif
};

static const int own_calls[] = {
	SYS_capget,  SYS_capset,    SYS_getuid,	   SYS_geteuid,	  SYS_getgid,
	SYS_getegid, SYS_getgroups, SYS_getresuid, SYS_getresgid, SYS_getpgid,
	SYS_getsid,  SYS_getrusage, SYS_sysinfo,   SYS_uname,	  SYS_getrandom,
};

static const int other_calls[] = {
	SYS_bpf,
	SYS_perf_event_open,
	SYS_pidfd_open,
	SYS_kcmp,
	SYS_bind,
	SYS_listen,
	SYS_accept4,
	SYS_accept,
	SYS_connect,
	SYS_shutdown,
	SYS_sendto,
	SYS_recvfrom,
	SYS_sendmsg,
	SYS_recvmsg,
	SYS_recvmmsg,
	SYS_sendmmsg,
	SYS_getsockopt,
	SYS_setsockopt,
	SYS_getsockname,
	SYS_getpeername,
	SYS_landlock_create_ruleset,
	SYS_landlock_add_rule,
	SYS_landlock_restrict_self,
};

/* Calls of the sanitizers, mostly at the end, to search for leaks. */
static const int sanitizer_calls[] = {
#if IS_SANITIZED
	SYS_clone,  SYS_ptrace,		  SYS_prctl,	   SYS_ioctl,
	SYS_tgkill, SYS_process_vm_readv, SYS_personality,
#endif
};

/* Calls that are allowed for some values of an argument. */
struct condition {
	int nr;
	unsigned int arg;
	uint32_t mask, value;
};

static const struct condition own_conditions[] = {
	{ SYS_clone, 0, CLONE_THREAD, CLONE_THREAD },
	{ SYS_ioctl, 1, ~0U, TCGETS }, /* used by stdio on a file */
	{ SYS_ioctl, 1, ~0U, FIONREAD },
	{ SYS_prctl, 0, ~0U, PR_SET_NAME },
	{ SYS_prctl, 0, ~0U, PR_GET_NAME },
	{ SYS_prctl, 0, ~0U, PR_CAPBSET_READ },
	{ SYS_prctl, 0, ~0U, PR_SET_VMA }, /* the C library names its memory */
	{ SYS_prlimit64, 0, ~0U, 0 },	   /* only our own limits */
};

static const struct condition recorder_conditions[] = {
	{ SYS_ioctl, 1, 0xff00, '$' << 8 }, /* perf events */
	{ SYS_ioctl, 1, 0xff00, 'f' << 8 }, /* PROCMAP_QUERY */
	{ SYS_kill, 1, ~0U, SIGKILL },	    /* ends a session's process that hangs, at the end */
	{ SYS_socket, 0, ~0U, AF_UNIX },     { SYS_socket, 0, ~0U, AF_NETLINK },
	{ SYS_socketpair, 0, ~0U, AF_UNIX },
};

static const struct condition reader_conditions[] = {
	{ SYS_ioctl, 1, ~0U, TIOCGWINSZ },
};

/* ---- refused calls ---- */

#define LOGGED_MAX 1024

static bool is_logged[LOGGED_MAX]; /* indexed by the number of the call */

/* Name of call @nr, or its number as text. */
static const char *system_call_name(int nr, char buf[static 16])
{
	const char *name = syscall__name(nr);
	char *p = buf + 15;

	*p = '\0';
	if (name)
		return name;
	do
		*--p = '0' + nr % 10;
	while ((nr /= 10) && p > buf);
	return p;
}

/* Called in a signal handler: only write() is safe. */
static void log_refused(int nr)
{
	static const char what[] = "error: system call ";
	static const char why[] =
		": refused by our own filter (seccomp): a defect of frbpf, or an attack\n";
	char line[sizeof(what) + 64 + sizeof(why)], number[16], *p = line;
	const char *name = system_call_name(nr, number);
	size_t len = strnlen(name, 64);

	if (nr < 0 || nr >= LOGGED_MAX || __atomic_test_and_set(&is_logged[nr], __ATOMIC_RELAXED))
		return;
	p = mempcpy(p, what, sizeof(what) - 1);
	p = mempcpy(p, name, len);
	p = mempcpy(p, why, sizeof(why) - 1);
	if (write(STDERR_FILENO, line, p - line) < 0)
		return;
}

/* Handles SIGSYS. The signal interrupts the refused call, so errno belongs to its caller. */
static void on_refused(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	int saved = errno;

	log_refused(info->si_syscall);
#if defined(__x86_64__)
	uc->uc_mcontext.gregs[REG_RAX] = -ENOSYS;
#elif defined(__aarch64__)
	uc->uc_mcontext.regs[0] = -ENOSYS;
#endif
	errno = saved;
}

int allowed_calls__watch_refused(void)
{
	struct sigaction sa = { .sa_sigaction = on_refused, .sa_flags = SA_SIGINFO };
	sigset_t set;

	sigemptyset(&sa.sa_mask);
	sigemptyset(&set);
	sigaddset(&set, SIGSYS);
	return sigaction(SIGSYS, &sa, NULL) || sigprocmask(SIG_UNBLOCK, &set, NULL) ? -errno : 0;
}

/* ---- the list ---- */

#define ADD(f, calls) call_filter__allow(f, calls, ARRAY_SIZE(calls))

static void add_conditions(struct call_filter *f, const struct condition *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		call_filter__allow_if(f, v[i].nr, v[i].arg, v[i].mask, v[i].value);
}

void allowed_calls__begin(struct call_filter *f)
{
	call_filter__begin(f);
	ADD(f, sanitizer_calls);
	ADD(f, reading_calls);
	ADD(f, memory_calls);
	ADD(f, thread_calls);
	ADD(f, own_calls);
	ADD(f, old_reading_calls);
	add_conditions(f, own_conditions, ARRAY_SIZE(own_conditions));
	/* only to ourselves, for abort() */
	call_filter__allow_if(f, SYS_tgkill, 0, ~0U, getpid());
#ifdef SYS_clone3
	/*
	 * The filter cannot see the flags of clone3(), which are in memory. With ENOSYS the C
	 * library uses clone(). SIGSYS would kill us: the library blocks all signals around
	 * clone3().
	 */
	call_filter__refuse(f, SYS_clone3, ENOSYS);
#endif
}

void allowed_calls__add_recorder(struct call_filter *f)
{
	ADD(f, io_calls);
	ADD(f, other_calls);
	ADD(f, old_calls);
	/* only single processes: no process group, and not all (-1) */
	call_filter__refuse_if(f, SYS_kill, 0, 0x80000000, 0x80000000, EPERM);
	call_filter__refuse_if(f, SYS_kill, 0, ~0U, 0, EPERM);
	add_conditions(f, recorder_conditions, ARRAY_SIZE(recorder_conditions));
}

void allowed_calls__add_reader(struct call_filter *f)
{
	add_conditions(f, reader_conditions, ARRAY_SIZE(reader_conditions));
	if (IS_SANITIZED) { /* sanitizers write their reports to new files */
		ADD(f, io_calls);
		ADD(f, old_calls);
	}
}
