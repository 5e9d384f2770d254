// SPDX-License-Identifier: GPL-2.0-only
/* Runs software on the slow disk, whose file system is visible to our processes only. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slow_disk.h"
#include "stage.h"

#define DISK_SIZE (96 << 20) /* bytes */

static pid_t start_shell(const char *command, const sigset_t *signals)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigprocmask(SIG_UNBLOCK, signals, NULL);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

/* Returns the exit status of the shell, or -1 if it was killed. */
static int await_shell(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		die("waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int on_slow_disk(long pace_ns, const char *prepare, const char *command)
{
	struct slow_disk *disk = slow_disk__serve(DISK_SIZE);
	sigset_t signals;
	pid_t pid;
	int sig;

	slow_disk__attach(disk);
	slow_disk__mount(disk);
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	setenv("DISK", disk->mounted, 1);
	errno = ECANCELED;
	if (await_shell(start_shell(prepare, &signals)))
		die(prepare);
	slow_disk__forget_cache(disk);
	*disk->pace = pace_ns;
	while (sigtimedwait(&signals, NULL, &(struct timespec){ 0 }) > 0)
		; /* drop signals that came while @prepare ran */
	pid = start_shell(command, &signals);
	if (sigwait(&signals, &sig) || sig != SIGCHLD)
		kill(pid, SIGKILL);
	*disk->pace = 0;
	return await_shell(pid) ? 1 : 0;
}
