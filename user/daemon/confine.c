// SPDX-License-Identifier: GPL-2.0-only
/*
 * The lists have what the sources call, and what the C library, libelf, libdw, libbpf and jansson
 * call on x86-64 and arm64. Newer versions of a call are listed too, for newer libraries. Left out
 * on purpose are starting programs or processes, changing user, mounting, tracing, device nodes and
 * modules. So are all sockets other than local ones and netlink.
 */
#include <errno.h>
#include <jansson.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "common/call_filter.h"
#include "common/cleanup.h"
#include "common/landlock.h"
#include "common/log.h"
#include "common/opening.h"
#include "common/rights.h"
#include "daemon/confine.h"
#include "rules/when.h"
#include "symbols/demangle.h"
#include "symbols/file_search.h"

/*
 * Decides what the opener of a process that reads recordings opens for it: recordings, ELF files,
 * perf-PID.map files, and a few files of the kernel. The client may have been taken over, so files
 * are recognised by their first bytes, not by their names.
 */

#define ELF_MAGIC	"\177ELF"
#define RECORDING_MAGIC "PERFILE2"

/* Limit the rights of the opener. 0 or negative errno. */
static int reader_opener__enter(void)
{
	return rights__keep_reader() ?: opening_calls__limit();
}

/* Check that the file begins with @magic. Takes @fd over; returns it, or negative errno. */
static int check_fd_magic(int fd, const char *magic)
{
	char begin[8];
	size_t len = strlen(magic);

	if (fd < 0)
		return fd;
	if (pread(fd, begin, len, 0) == (ssize_t)len && !memcmp(begin, magic, len))
		return fd;
	close(fd);
	return -ENOEXEC;
}

static int open_recording(const char *path)
{
	_cleanup_close_ int fd = opening__recording(path);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		return -errno;
	return S_ISREG(st.st_mode) ? check_fd_magic(TAKE_FD(fd), RECORDING_MAGIC) : -ENXIO;
}

/* @path is @begin, one or more names, and @end. */
static bool is_between(const char *path, const char *begin, const char *end)
{
	size_t len = strlen(path), b = strlen(begin), e = strlen(end);

	return len > b + e && !strncmp(path, begin, b) && !strcmp(path + len - e, end) &&
	       !strstr(path, "/../");
}

static bool is_kernel_file(const char *path)
{
	static const char *const names[] = { "/proc/kallsyms", "/proc/modules",
					     "/sys/kernel/notes" };
	const char *home = getenv("HOME");
	char kept[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(path, names[i]))
			return true;
	if (is_between(path, "/sys/module/", "/notes/.note.gnu.build-id"))
		return true;
	if (!home || home[0] != '/' ||
	    snprintf(kept, sizeof(kept), "%s/.debug/[kernel.kallsyms]/", home) >= PATH_MAX)
		return false;
	return is_between(path, kept, "/kallsyms");
}

static int open_kernel(const char *path)
{
	RAISED_RIGHTS(!strncmp(path, "/proc/", 6) ? RIGHTS_PROCESSES : 0);

	return is_kernel_file(path) ? opening__kernel(path) : -EACCES;
}

/* Returns a descriptor or negative errno; -ENOEXEC: the file is of no such kind. */
static int reader_opener__open(const struct opening_request *r)
{
	struct build_id id = { .size = r->id_size };
	const struct mapped_file m = { r->path, &id, r->pid, r->start, r->end };

	_Static_assert(sizeof(id.data) == OPENING_ID_MAX, "the same size");
	memcpy(id.data, r->id, sizeof(id.data));
	switch (r->kind) {
	case OPENING_RECORDING:
		return open_recording(r->path);
	case OPENING_KERNEL:
		return open_kernel(r->path);
	case OPENING_TEMPORARY:
		return opening__temporary();
	case OPENING_MAPPED:
		return check_fd_magic(file_search__mapped(&m, r->candidate), ELF_MAGIC);
	case OPENING_DEBUG:
		return check_fd_magic(file_search__debug(r->path, &id, r->link, r->candidate),
				      ELF_MAGIC);
	case OPENING_VDSO:
		return check_fd_magic(file_search__vdso(&id), ELF_MAGIC);
	case OPENING_PERF_MAP:
		return file_search__perf_map(r->pid);
	}
	return -EINVAL;
}

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

static int watch_refused(void)
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

/* Allow what both recorder and readers need. */
static void begin_filter(struct call_filter *f)
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
	 * library uses clone(). It blocks all signals there, so SIGSYS would kill us.
	 */
	call_filter__refuse(f, SYS_clone3, ENOSYS);
#endif
}

int confine__calls(void)
{
	struct call_filter f;
	int err = watch_refused();

	if (err)
		return err;
	begin_filter(&f);
	ADD(&f, io_calls);
	ADD(&f, other_calls);
	ADD(&f, old_calls);
	/* only single processes: no process group, and not all (-1) */
	call_filter__refuse_if(&f, SYS_kill, 0, 0x80000000, 0x80000000, EPERM);
	call_filter__refuse_if(&f, SYS_kill, 0, ~0U, 0, EPERM);
	add_conditions(&f, recorder_conditions, ARRAY_SIZE(recorder_conditions));
	return call_filter__install(&f, SECCOMP_RET_TRAP);
}

static int compare_fds(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Close all descriptors but the standard ones, the opener's and those of @keep. */
static int close_other_fds(const int *keep, size_t n, int opener)
{
	int v[READER_FDS_MAX + 1], from = STDERR_FILENO + 1;

	if (n > READER_FDS_MAX)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		v[i] = keep[i];
	v[n++] = opener;
	qsort(v, n, sizeof(*v), compare_fds);
	for (size_t i = 0; i < n; i++) {
		if (v[i] > from && close_range(from, v[i] - 1, 0))
			return -errno;
		from = v[i] >= from ? v[i] + 1 : from;
	}
	return close_range(from, ~0U, 0) ? -errno : 0;
}

static int filter_reader(const int *keep, size_t n, int opener)
{
	struct call_filter f;
	int err;

	begin_filter(&f);
	call_filter__allow_if(&f, SYS_sendmsg, 0, ~0U, opener);
	call_filter__allow_if(&f, SYS_recvmsg, 0, ~0U, opener);
	for (size_t i = 0; i < n; i++)
		call_filter__allow_if(&f, SYS_recvmsg, 0, ~0U, keep[i]);
	call_filter__allow_if(&f, SYS_shutdown, 0, ~0U, opener);
	add_conditions(&f, reader_conditions, ARRAY_SIZE(reader_conditions));
	if (IS_SANITIZED) { /* sanitizers write their reports to new files */
		ADD(&f, io_calls);
		ADD(&f, old_calls);
	}
	err = call_filter__install(&f, SECCOMP_RET_TRAP);
	return err == -ENOSYS ? 0 : err;
}

int confine__reader(const int *keep, size_t n)
{
	int opener, err = watch_refused();

	/* now, since libraries would open files when they first need these */
	tzset();
	json_object_seed(0);
	demangle__prepare();
	err = err ?: opening__start(reader_opener__enter, reader_opener__open, keep, n, &opener);
	err = err ?: close_other_fds(keep, n, opener);
	err = err ?: rights__keep(NULL, 0);
	if (!IS_SANITIZED)
		err = err ?: landlock__no_files();
	return err ?: filter_reader(keep, n, opener);
}

/* ---- files ---- */

static int writers = -1; /* their Landlock domain; threads may start until the end */

int confine__set_base(int base)
{
	int domain = landlock__only_below(base);

	if (domain < 0)
		return domain == -ENOSYS ? 0 : domain;
	writers = domain;
	return 0;
}

void confine__writer(void)
{
	int err = writers < 0 ? 0 : landlock__enter(writers);

	if (err)
		log_error("cannot limit where a thread writes (Landlock): %s", strerror(-err));
}
