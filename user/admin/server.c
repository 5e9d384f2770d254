// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/bpf.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "admin/admin_request.h"
#include "admin/server.h"
#include "common/call_filter.h"
#include "common/channel.h"
#include "common/cleanup.h"
#include "common/helper.h"
#include "common/landlock.h"
#include "common/limit.h"
#include "common/rights.h"

#define MAX_FDS	 2  /* the socket for the reply; a file or cgroup */
#define PAUSE_MS 50 /* before a process that died is replaced */

/* CAP_SYSLOG: without it the kernel hides the addresses of the programs that we open. */
static const int kept[] = { CAP_SYS_ADMIN, CAP_SYSLOG };

static const int server_calls[] = {
	SYS_recvmsg,	 SYS_sendmsg,	     SYS_perf_event_open, SYS_close,	  SYS_fcntl,
	SYS_getpid,	 SYS_fstat,	     SYS_newfstatat, /* fstat() of newer C libraries */
#ifdef SYS_alarm
	SYS_alarm,
#endif
	SYS_setitimer,	 SYS_rt_sigreturn,   SYS_restart_syscall, SYS_exit_group,
#if IS_SANITIZED
	SYS_write,	 SYS_mmap,	     SYS_munmap,	  SYS_madvise,	  SYS_futex,
	SYS_sigaltstack, SYS_rt_sigprocmask, SYS_sched_yield,	  SYS_gettid,
#endif
};

static int filter_admin_calls(void)
{
	struct call_filter f;
	int err;

	call_filter__begin(&f);
	call_filter__allow(&f, server_calls, ARRAY_SIZE(server_calls));
	call_filter__allow_if(&f, SYS_bpf, 0, ~0U, BPF_PROG_GET_NEXT_ID);
	call_filter__allow_if(&f, SYS_bpf, 0, ~0U, BPF_PROG_GET_FD_BY_ID);
	call_filter__allow_if(&f, SYS_bpf, 0, ~0U, BPF_BTF_GET_FD_BY_ID);
	err = call_filter__install(&f, SECCOMP_RET_KILL_PROCESS);
	return err == -ENOSYS ? 0 : err;
}

static void reply_to(int sock, int fd, uint32_t id)
{
	const struct admin_reply reply = { .error = fd < 0 ? fd : 0, .id = id, .pid = getpid() };

	channel__send(sock, &reply, sizeof(reply), &fd, fd > 0, MSG_DONTWAIT);
}

/* A request without a socket gets no reply. */
static void serve_admin_request(struct admin_request *r, size_t len, const int *fds, size_t n_fds,
				const struct admin_pmus *pmus)
{
	int fd = admin_request__check(r, len, n_fds, pmus);
	uint32_t id = 0;

	alarm(ADMIN_SECONDS);
	fd = fd ?: admin_request__open(r, n_fds > 1 ? fds[1] : -1, pmus, &id);
	alarm(0);
	if (n_fds)
		reply_to(fds[0], fd, id);
	if (fd > 0)
		close(fd);
}

/* SIGALRM ends a request that hangs, and this process with it. */
static void run_server(int sock, const struct admin_pmus *pmus)
{
	struct admin_request r;
	int fds[MAX_FDS];
	size_t n_fds;
	ssize_t n;

	if (filter_admin_calls())
		_exit(1);
	while ((n = channel__receive(sock, &r, sizeof(r), fds, MAX_FDS, &n_fds, 0)) != 0) {
		if (n == -EMSGSIZE)
			continue;
		if (n < 0)
			_exit(1);
		serve_admin_request(&r, n, fds, n_fds, pmus);
		while (n_fds)
			close(fds[--n_fds]);
	}
	_exit(0);
}

static pid_t start_server(int sock, const struct admin_pmus *pmus)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	run_server(sock, pmus);
	_exit(1);
}

/* Wait for PAUSE_MS, or until the other end of @sock is closed. Returns whether it was closed. */
static bool pause_until_closed(int sock)
{
	struct pollfd pfd = { .fd = sock };

	return poll(&pfd, 1, PAUSE_MS) > 0;
}

void admin_server__run(int sock)
{
	const struct admin_pmus pmus = admin_pmus__find();

	helper__ignore_signals();
	if (rights__keep(kept, ARRAY_SIZE(kept)) || limit__set(RLIMIT_CORE, 0) ||
	    landlock__no_files())
		_exit(1);
	do {
		pid_t pid = start_server(sock, &pmus);
		int status = 0;

		while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		if (pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status))
			_exit(0);
	} while (!pause_until_closed(sock));
	_exit(1);
}
