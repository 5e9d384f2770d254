/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * File systems that hung, for the examiner. A file system is asked again after some seconds, when
 * no process waits for it any more. No user may take all processes away from others: at most one
 * process waits for the file systems of a user, and four for those of all users. Three lanes may
 * ask at once, so at least two of KEEPER_STUCK_MAX remain for files of root. Call under a lock.
 */
#ifndef FRBPF_EXAMINE_HUNG_H
#define FRBPF_EXAMINE_HUNG_H

#include <stdbool.h>

#include "examine/message.h"

#define HUNG_MAX	  32
#define HUNG_OF_USER_MAX  1
#define HUNG_OF_ENDED_MAX 2 /* of processes that have ended: their users are unknown */
#define HUNG_OF_USERS_MAX 4 /* of all users but root, together */
#define HUNG_OF_ROOT_MAX  3

struct hung {
	struct hung_one {
		uint64_t what;	       /* hash of the file system, or of the path */
		uint64_t since, until; /* ns; it is not asked again before `until` */
		uint32_t owner;
		pid_t pair[2];
		bool waits; /* a process of the pair still waits */
	} v[HUNG_MAX];
	size_t next;
};

/*
 * The owner of the files of process @pid: its user. All users of one user namespace count as one.
 * If the process has ended, its owner is unknown. Pid 0: the rules name the file; the owner is
 * root.
 */
uint32_t hung__owner(pid_t pid);

/* Note that @pair waited for @r and was killed after @waited ns. @waits: it has not ended. */
void hung__note(struct hung *h, const struct examine_request *r, const pid_t pair[2],
		uint64_t waited, bool waits);
/* Does any process still wait? */
bool hung__any(const struct hung *h);
/* Forget waiting processes that have ended: those that are not among the @n processes @pids. */
void hung__update(struct hung *h, const pid_t *pids, size_t n);
/* Is @r refused because of its file system or its owner? */
bool hung__refuses(const struct hung *h, const struct examine_request *r);

#endif
