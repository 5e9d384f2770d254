// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/run_process.h"
#include "common/buf.h"
#include "common/cleanup.h"

#define PROGRAM "/proc/self/exe"

static const int handed_on[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM };

static void handed_on_set(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGCHLD);
	for (size_t i = 0; i < ARRAY_SIZE(handed_on); i++)
		sigaddset(ret, handed_on[i]);
}

int run_process__block_signals(sigset_t *ret_old)
{
	sigset_t set;

	handed_on_set(&set);
	return sigprocmask(SIG_BLOCK, &set, ret_old) < 0 ? -errno : 0;
}

/* ---- its arguments ---- */

struct args { /* words, each with a NUL */
	struct buf text;
	size_t n;
	int err;
};

static void args__add(struct args *a, const char *name, const char *value)
{
	if (!a->err)
		a->err = buf__printf(&a->text, "%s%s%s", name, value ? "=" : "", value ?: "");
	if (!a->err)
		a->err = buf__add(&a->text, "", 1);
	a->n++;
}

static void args__add_opts(struct args *a, const struct run_opts *o)
{
	char value[32];

	if (o->rules)
		args__add(a, "--rules", o->rules);
	for (size_t i = 0; i < o->n_whens; i++) {
		args__add(a, "--when", o->whens[i].when);
		if (o->whens[i].condition)
			args__add(a, "--if", o->whens[i].condition);
	}
	for (size_t i = 0; i < o->n_sessions; i++)
		args__add(a, "--session", o->sessions[i]);
	for (size_t i = 0; i < o->n_thresholds; i++) {
		snprintf(value, sizeof(value), "=%lluns", (unsigned long long)o->thresholds[i].ns);
		if (!a->err)
			a->err = buf__printf(&a->text, "--threshold=%s", o->thresholds[i].rule);
		args__add(a, value, NULL);
	}
	if (o->as_user)
		args__add(a, "--user", o->user);
	if (o->log)
		args__add(a, "--log", o->log);
	if (o->optional)
		args__add(a, "--optional", NULL);
	if (o->matches_only)
		args__add(a, "--matches-only", NULL);
	args__add(a, "--last-window", o->last_window ? NULL : "no");
	args__add(a, "--quiet", NULL);
}

/*
 * The words, followed by @command, NULL-terminated. The caller frees the list; the words belong to
 * @a. NULL: out of memory.
 */
static char **args__list(const struct args *a, char *const *command)
{
	size_t n_command = 0, k = 0;
	const char *word = a->text.data;
	char **list;

	while (command[n_command])
		n_command++;
	list = a->err ? NULL : calloc(a->n + n_command + 1, sizeof(*list));
	for (; list && k < a->n; k++, word += strlen(word) + 1)
		list[k] = (char *)word;
	for (size_t i = 0; list && i < n_command; i++)
		list[k++] = command[i];
	return list;
}

/* ---- its life ---- */

/* Wait for the end of @pid. It gets signals of the terminal itself. */
static int run_process__wait(pid_t pid)
{
	siginfo_t si;
	sigset_t set;
	int status;

	handed_on_set(&set);
	for (;;) {
		pid_t ended = waitpid(pid, &status, WNOHANG);

		if (ended == pid)
			return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		if (ended < 0 && errno != EINTR)
			return -errno;
		if (sigwaitinfo(&set, &si) > 0 && si.si_signo != SIGCHLD && si.si_code != SI_KERNEL)
			kill(pid, si.si_signo);
	}
}

static int run_process__spawn(char *const *argv, const sigset_t *mask, pid_t *ret)
{
	posix_spawnattr_t attr;
	int err = posix_spawnattr_init(&attr);

	if (err)
		return -err;
	err = posix_spawnattr_setsigmask(&attr, mask);
	err = err ?: posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	err = err ?: posix_spawn(ret, PROGRAM, NULL, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	return -err;
}

int run_process__run(const struct run_opts *opts, const char *folder, const sigset_t *mask,
		     struct err *err, int *ret_status)
{
	struct args a = { 0 };
	char **argv;
	pid_t pid;
	int code;

	args__add(&a, "frbpf", NULL);
	args__add(&a, "run", NULL);
	args__add(&a, "--output", folder);
	args__add_opts(&a, opts);
	args__add(&a, "--", NULL);
	argv = args__list(&a, opts->command);
	code = argv ? run_process__spawn(argv, mask, &pid) : -ENOMEM;
	free(argv);
	buf__free(&a.text);
	code = code ?: run_process__wait(pid);
	if (code < 0)
		return err_set(err, code, "frbpf run cannot be started: %s", strerror(-code));
	*ret_status = code;
	return 0;
}
