// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/helper.h"
#include "common/rights.h"
#include "proxy/proxy_process.h"
#include "proxy/spawner.h"

static _Noreturn void become_proxy(const struct proxy_request *r, const int fds[2], int spawner)
{
	char title[PROXY_NAME_MAX + 16];

	close(spawner);
	snprintf(title, sizeof(title), "session-%s", r->name);
	helper__set_title(title);
	proxy_process__run(r, fds[0], fds[1]);
}

/* Check that each word ends within the request. */
static bool is_whole(const struct proxy_request *r, ssize_t n)
{
	uint32_t words = 0;

	if (n != sizeof(*r) || r->name[PROXY_NAME_MAX] || r->words_len > PROXY_WORDS_MAX ||
	    (r->words_len && r->words[r->words_len - 1]))
		return false;
	for (uint32_t i = 0; i < r->words_len; i++)
		words += !r->words[i];
	return words == r->n_words;
}

/*
 * Start a child of our parent (CLONE_PARENT). Like fork(), it is safe because we have one thread.
 */
static pid_t fork_sibling(void)
{
	return syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
}

static _Noreturn void serve_socket(int sock)
{
	static struct proxy_request r;

	for (;;) {
		int fds[2];
		size_t n_fds = 0;
		ssize_t n = channel__receive(sock, &r, sizeof(r), fds, 2, &n_fds, 0);

		if (n <= 0 && n != -EMSGSIZE)
			_exit(0);
		if (n_fds == 2 && is_whole(&r, n) && fork_sibling() == 0)
			become_proxy(&r, fds, sock);
		while (n_fds) /* the daemon sees the failure, because its socket is closed */
			close(fds[--n_fds]);
	}
}

static _Noreturn void become_spawner(int sock)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), keep;

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && null >= 0; fd++)
		dup2(null, fd);
	keep = fcntl(sock, F_DUPFD_CLOEXEC, 16);
	if (keep < 0 || dup3(keep, 3, O_CLOEXEC) != 3 || close_range(4, ~0U, 0))
		_exit(1);
	setsid(); /* Ctrl-C is for the daemon */
	helper__ignore_signals();
	if (chdir("/") < 0 || rights__keep(NULL, 0))
		_exit(1);
	helper__set_title("frbpf-sessions");
	serve_socket(3);
}

int spawner__fork(pid_t *ret_pid, int *ret_sock)
{
	int socks[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) < 0)
		return -errno;
	pid = fork();
	if (!pid)
		become_spawner(socks[1]);
	close(socks[1]);
	if (pid < 0) {
		int err = -errno;

		close(socks[0]);
		return err;
	}
	*ret_pid = pid;
	*ret_sock = socks[0];
	return 0;
}
