// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/helper.h"

void helper__set_title(const char *title)
{
	char *args = program_invocation_name, comm[16]; /* argv[0], as the kernel has it */
	static size_t room;				/* bytes of all arguments */
	struct buf line = { 0 };

	snprintf(comm, sizeof(comm), "%s", title);
	prctl(PR_SET_NAME, comm);
	if (!room && !buf__read_file(&line, "/proc/self/cmdline", 1 << 20) && line.len &&
	    !memcmp(line.data, args, strlen(args) + 1))
		room = line.len;
	buf__free(&line);
	if (!room)
		return;
	memset(args, 0, room);
	snprintf(args, room, "%s", title);
}

void helper__detach(int sock)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), keep;

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && null >= 0; fd++)
		dup2(null, fd);
	keep = fcntl(sock, F_DUPFD_CLOEXEC, 16);
	if (keep < 0 || dup3(keep, 3, O_CLOEXEC) != 3 || close_range(4, ~0U, 0))
		_exit(1);
	setsid();
	if (chdir("/"))
		_exit(1);
}

int helper__fork(const char *title, void (*run)(int sock), int *ret_sock)
{
	int socks[2], err = 0;
	pid_t between;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks))
		return -errno;
	/*
	 * Fork twice: the helper must not be our child, because other code waits for all children.
	 */
	between = fork();
	if (!between) {
		pid_t pid = fork();

		if (!pid) {
			helper__detach(socks[1]);
			helper__set_title(title);
			run(3);
		}
		_exit(pid < 0);
	}
	if (between < 0)
		err = -errno;
	while (between > 0 && waitpid(between, NULL, 0) < 0 && errno == EINTR)
		;
	close(socks[1]);
	if (err)
		close(socks[0]);
	else
		*ret_sock = socks[0];
	return err;
}

void helper__ignore_signals(void)
{
	static const int ignored[] = {
		SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2
	};
	sigset_t none;

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}
