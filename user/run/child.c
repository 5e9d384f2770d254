// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/call_filter.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "run/child.h"

/* Sent by a child that could not become the command */
struct failure {
	int error;
	bool as_user; /* changing the user failed */
};

static const struct passwd *find_user(const char *name, struct err *err)
{
	const char *sudo = getenv("SUDO_UID");
	const struct passwd *pw;
	char *end;
	long uid;

	if (name) {
		pw = getpwnam(name);
		if (!pw)
			err_set(err, -EINVAL, "--user %s: no such user", name);
		return pw;
	}
	uid = sudo ? strtol(sudo, &end, 10) : -1;
	if (!sudo || !*sudo || *end || uid < 0 || uid >= UINT32_MAX) {
		err_set(err, -EINVAL,
			"--user: not called by sudo (SUDO_UID is not set): give a name, "
			"--user=NAME");
		return NULL;
	}
	pw = getpwuid(uid);
	if (!pw)
		err_set(err, -EINVAL, "--user: there is no user with the uid %ld", uid);
	return pw;
}

int child_user__find(const char *name, struct child_user *ret, struct err *err)
{
	const struct passwd *pw = find_user(name, err);

	if (!pw)
		return -EINVAL;
	if (geteuid() != 0 && pw->pw_uid != geteuid())
		return err_set(err, -EINVAL, "--user %s: only root can run a command as another",
			       pw->pw_name);
	*ret = (struct child_user){ .change = true, .uid = pw->pw_uid, .gid = pw->pw_gid };
	snprintf(ret->name, sizeof(ret->name), "%s", pw->pw_name);
	snprintf(ret->home, sizeof(ret->home), "%s", pw->pw_dir);
	snprintf(ret->shell, sizeof(ret->shell), "%s", pw->pw_shell);
	return 0;
}

/* ---- in the child ---- */

/*
 * The command shares the terminal with the shell that called frbpf. A command of another user could
 * push input into the terminal (TIOCSTI). The shell would execute it with the caller's rights after
 * frbpf has ended. Where system calls cannot be filtered, the command gets no terminal.
 */
static int forbid_terminal_input(void)
{
	_cleanup_close_ int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	struct call_filter f;

	if (terminal < 0)
		return 0;
	call_filter__begin_no_typing(&f);
	return call_filter__install(&f, SECCOMP_RET_ALLOW) && setsid() < 0 ? -errno : 0;
}

/*
 * Drop what the command would inherit besides its ids: open files of the caller, and capabilities.
 */
static int drop_inherited(void)
{
	cap_t none = cap_init();
	int err = none && !cap_set_proc(none) ? 0 : -errno;

	cap_free(none);
	if (!err && close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC))
		err = -errno;
	return err;
}

static int become_user(const struct child_user *user)
{
	int err;

	if (!user->change || (geteuid() != 0 && geteuid() == user->uid))
		return 0;
	err = user->uid ? forbid_terminal_input() : 0;
	if (err)
		return err;
	if (initgroups(user->name, user->gid) || setresgid(user->gid, user->gid, user->gid) ||
	    setresuid(user->uid, user->uid, user->uid))
		return -errno;
	if (setenv("HOME", user->home, 1) || setenv("USER", user->name, 1) ||
	    setenv("LOGNAME", user->name, 1) || setenv("SHELL", user->shell, 1))
		return -errno;
	return user->uid ? drop_inherited() : 0;
}

_Noreturn static void run_child(char *const *command, const struct child_user *user,
				const sigset_t *mask, int go, int result)
{
	struct failure f = { 0 };
	char byte;
	ssize_t n;

	do
		n = read(go, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1) /* the parent does not want the command to be executed */
		_exit(0);
	sigprocmask(SIG_SETMASK, mask, NULL);
	f.error = become_user(user);
	f.as_user = f.error;
	if (!f.error) {
		execvp(command[0], command);
		f.error = -errno;
	}
	if (write(result, &f, sizeof(f)) < 0)
		_exit(126);
	_exit(127);
}

/* ---- in the parent ---- */

int child__fork(char *const *command, const struct child_user *user, const sigset_t *mask,
		struct err *err, struct child *ret)
{
	int go[2], result[2];
	pid_t pid;

	if (pipe2(go, O_CLOEXEC) < 0)
		return err_set(err, -errno, "pipe: %s", strerror(errno));
	if (pipe2(result, O_CLOEXEC) < 0) {
		close(go[0]);
		close(go[1]);
		return err_set(err, -errno, "pipe: %s", strerror(errno));
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		close(result[0]);
		run_child(command, user, mask, go[0], result[1]);
	}
	close(go[0]);
	close(result[1]);
	*ret = (struct child){ .pid = pid, .go = go[1], .result = result[0] };
	if (pid > 0)
		return 0;
	close(go[1]);
	close(result[0]);
	return err_set(err, -EAGAIN, "fork: %s", strerror(errno));
}

int child__go(struct child *c, const char *name, struct err *err)
{
	struct failure f = { 0 };
	ssize_t n = write(c->go, "", 1);

	close(TAKE_FD(c->go));
	do
		n = n == 1 || n == -1 ? read(c->result, &f, sizeof(f)) : n;
	while (n < 0 && errno == EINTR);
	close(TAKE_FD(c->result));
	if (n != sizeof(f)) /* closed by exec */
		return 0;
	if (f.as_user)
		return err_set(err, f.error, "cannot become the user to run %s: %s", name,
			       strerror(-f.error));
	if (f.error == -ENOENT)
		return err_set(err, f.error, "%s: command not found", name);
	return err_set(err, f.error, "%s: cannot be executed: %s", name, strerror(-f.error));
}

bool child__reap(struct child *c)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != c->pid)
			continue;
		c->ended = true;
		c->status = status;
		c->ended_at = now_ns();
	}
	return pid < 0 && errno == ECHILD;
}

void child__free(struct child *c)
{
	if (c->result >= 0)
		close(TAKE_FD(c->result));
	if (c->go < 0)
		return;
	close(TAKE_FD(c->go));
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
