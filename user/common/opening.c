// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/call_filter.h"
#include "common/channel.h"
#include "common/cleanup.h"
#include "common/helper.h"
#include "common/opening.h"

#define TITLE	    "frbpf-opener"
#define SECONDS_MAX 20 /* for one file; after that its file system counts as hung */

/* Set once, before there are threads. */
static int opener = -1;
static pid_t opener_pid;

bool opening__is_remote(void)
{
	return opener >= 0;
}

pid_t opening__pid(void)
{
	return opener_pid;
}

/* ---- in the opener ---- */

bool opening_request__is_valid(const struct opening_request *r)
{
	return r->kind < OPENING_KINDS && r->id_size <= OPENING_ID_MAX &&
	       memchr(r->link, '\0', sizeof(r->link)) && !strchr(r->link, '/') &&
	       memchr(r->path, '\0', sizeof(r->path));
}

_Noreturn static void serve(int sock, opening_fn fn)
{
	static struct opening_request r;

	for (;;) {
		size_t n_fds;
		ssize_t n = channel__receive(sock, &r, sizeof(r), NULL, 0, &n_fds, 0);
		int32_t fd;

		if (n != sizeof(r) || !opening_request__is_valid(&r))
			_exit(0);
		fd = fn(&r);
		if (channel__send(sock, &fd, sizeof(fd), &fd, fd >= 0, 0))
			_exit(0);
		if (fd >= 0)
			close(fd);
	}
}

_Noreturn static void run_opener(int (*enter)(void), opening_fn fn, int sock, pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	helper__ignore_signals();
	helper__set_title(TITLE);
	if (enter())
		_exit(1);
	serve(sock, fn);
}

/* ---- in the process that asks ---- */

int opening__start(int (*enter)(void), opening_fn fn, const int *ours, size_t n, int *ret_sock)
{
	const struct timeval limit = { .tv_sec = SECONDS_MAX };
	pid_t parent = getpid(), pid;
	int socks[2], err = 0;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks))
		return -errno;
	pid = fork();
	if (!pid) {
		close(socks[0]);
		for (size_t i = 0; i < n; i++)
			close(ours[i]);
		run_opener(enter, fn, socks[1], parent);
	}
	if (pid < 0 || setsockopt(socks[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)))
		err = -errno;
	close(socks[1]);
	if (err) {
		close(socks[0]);
		return err;
	}
	*ret_sock = opener = socks[0];
	opener_pid = pid;
	return 0;
}

int opening__ask(const struct opening_request *r)
{
	int32_t answer = -EIO;
	size_t n_fds = 0;
	int fd = -1;
	ssize_t n = channel__send(opener, r, sizeof(*r), NULL, 0, 0);

	if (!n)
		n = channel__receive(opener, &answer, sizeof(answer), &fd, 1, &n_fds, 0);
	if (n == sizeof(answer))
		return n_fds ? fd : answer < 0 ? answer : -EIO;
	if (n_fds)
		close(fd);
	shutdown(opener, SHUT_RDWR); /* a late answer must not be taken for the next one */
	return n == -EAGAIN ? -ETIMEDOUT : -EIO;
}

static int ask_for_path(enum opening_kind kind, const char *path)
{
	struct opening_request r = { .kind = kind };

	if ((size_t)snprintf(r.path, sizeof(r.path), "%s", path) >= sizeof(r.path))
		return -ENAMETOOLONG;
	return opening__ask(&r);
}

static int fd_or_error(int fd)
{
	return fd < 0 ? -errno : fd;
}

int opening__recording(const char *path)
{
	if (opening__is_remote())
		return ask_for_path(OPENING_RECORDING, path);
	/* O_NONBLOCK: do not block on a fifo */
	return fd_or_error(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

int opening__kernel(const char *path)
{
	if (opening__is_remote())
		return ask_for_path(OPENING_KERNEL, path);
	return fd_or_error(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

int opening__temporary(void)
{
	const char *dir = getenv("TMPDIR");
	int fd;

	if (opening__is_remote())
		return ask_for_path(OPENING_TEMPORARY, "");
	fd = open(dir && *dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return fd >= 0 ? fd : fd_or_error(memfd_create("frbpf-records", MFD_CLOEXEC));
}

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

#define CHANGES_FILES ((uint32_t)(O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND))
#define NAMELESS      ((uint32_t)(O_TMPFILE | O_RDWR | O_CLOEXEC))

/* The most frequent calls first. A filter cannot see the flags of openat2(): they are in memory. */
static const int opening_calls[] = {
	SYS_openat2,	  SYS_fstat,	   SYS_newfstatat,    SYS_close,	SYS_recvmsg,
	SYS_sendmsg,	  SYS_fstatfs,	   SYS_pread64,	      SYS_readlinkat,	SYS_read,
	SYS_capget,	  SYS_capset,	   SYS_geteuid,	      SYS_getpid,	SYS_brk,
	SYS_mmap,	  SYS_munmap,	   SYS_mremap,	      SYS_madvise,	SYS_lseek,
	SYS_memfd_create, SYS_write,	   SYS_pwrite64,      SYS_statx,	SYS_fcntl,
	SYS_ftruncate, /* of a copy in memory: files are open for reading only */
	SYS_getrandom,	  SYS_futex,	   SYS_clock_gettime, SYS_rt_sigreturn, SYS_restart_syscall,
	SYS_exit_group,
#ifdef SYS_open
	SYS_stat,	  SYS_lstat,	   SYS_readlink,
#endif
#if IS_SANITIZED
	SYS_openat,	  SYS_sched_yield, SYS_gettid,	      SYS_sigaltstack,	SYS_rt_sigprocmask,
	SYS_mprotect,	  SYS_prctl,
#endif
};

int opening_calls__limit(void)
{
	struct call_filter f;
	int err;

	call_filter__begin(&f);
	call_filter__allow(&f, opening_calls, ARRAY_SIZE(opening_calls));
	call_filter__allow_if(&f, SYS_openat, 2, CHANGES_FILES, O_RDONLY);
	call_filter__allow_if(&f, SYS_openat, 2, ~0U, NAMELESS);
	call_filter__allow_if(&f, SYS_ioctl, 1, ~0U, (uint32_t)FS_IOC_GETVERSION);
	call_filter__allow_if(&f, SYS_prctl, 0, ~0U, PR_SET_VMA);
	err = call_filter__install(&f, SECCOMP_RET_TRAP);
	return err == -ENOSYS ? 0 : err;
}
