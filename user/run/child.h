/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The command of a run. It is forked before frbpf starts any thread, and waits until everything is
 * armed. It is executed only then, which closes the descriptors of frbpf. It stays in the process
 * group of frbpf and keeps the terminal and the standard streams, so keys reach it as without
 * frbpf. Life: fork, go, reap until it has ended; or free, and it never runs.
 */
#ifndef FRBPF_RUN_CHILD_H
#define FRBPF_RUN_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

/* The user that the command runs as */
struct child_user {
	bool change; /* false: the user of frbpf */
	uid_t uid;
	gid_t gid;
	char name[256]; /* "" if the user is unknown: then it has no groups but gid */
	char home[4096], shell[256];
};

/* Find user @name, or, for NULL, the caller of sudo. -EINVAL, message in @err. */
int child_user__find(const char *name, struct child_user *ret, struct err *err);

struct child {
	pid_t pid;
	int go, result; /* our ends of the pipes to and from the child; -1: closed */
	bool ended;
	int status;	   /* as from waitpid(2) */
	uint64_t ended_at; /* ns of CLOCK_MONOTONIC, when it was reaped */
};

/*
 * Fork the child. @mask: the signals blocked when frbpf was called; the command gets this mask.
 * From now on, orphans of the command become children of frbpf. Negative errno, message in @err.
 */
int child__fork(char *const *command, const struct child_user *user, const sigset_t *mask,
		struct err *err, struct child *ret);

/*
 * Let the child execute the command. 0; or negative errno of execve(2) or of changing the user,
 * with a message in @err: then the child has ended.
 */
int child__go(struct child *c, const char *name, struct err *err);

/* Reap the command and orphans that have ended. True: none are left. Does not block. */
bool child__reap(struct child *c);

/* Free @c. A child for which child__go() was not called ends. */
void child__free(struct child *c);

#endif
