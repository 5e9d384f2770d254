/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The command of a run. It is forked before any thread of ours is started, and waits until
 * everything is armed; only then it is executed, which closes what is ours. It stays in our
 * process group and keeps the terminal, so that keys reach it as without us, and standard streams
 * are what we were given. Life: fork, go, reap until it has ended, or free to have it never run.
 */
#ifndef FRBPF_RUN_CHILD_H
#define FRBPF_RUN_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

/* Who the command runs as. */
struct child_user {
	bool change; /* else as whom we run */
	uid_t uid;
	gid_t gid;
	char name[256]; /* "" when no such user is known: then no groups but gid */
	char home[4096], shell[256];
};

/* @name, or NULL for who called sudo. -EINVAL with words. */
int child_user__find(const char *name, struct child_user *ret, struct err *err);

struct child {
	pid_t pid;
	int go, result; /* pipes to and from it; -1: closed */
	bool ended;
	int status;	   /* as of waitpid(2) */
	uint64_t ended_at; /* when it was reaped, ns of CLOCK_MONOTONIC */
};

/* @mask: the signals that were blocked when we were called: the command's. Orphans that the command
 * leaves become our children from now on. */
int child__fork(char *const *command, const struct child_user *user, const sigset_t *mask,
		struct err *err, struct child *ret);

/* Let it execute the command. 0; or the errno of execve(2) or of changing the user, negative, with
 * words: then it has ended. */
int child__go(struct child *c, const char *name, struct err *err);

/* Reap what has ended, of it and of the orphans. True: nothing is left. Does not block. */
bool child__reap(struct child *c);

/* End it if it was not let go. */
void child__free(struct child *c);

#endif
