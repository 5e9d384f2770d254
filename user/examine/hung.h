/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * File systems that hung, for the examiner. One is asked again after some seconds, and only when no
 * process waits for it any more. Users must not take all processes away from others. So at most one
 * process waits for the file systems of a user, and four for those of all users. Three lanes may ask
 * at once, so at least two of KEEPER_STUCK_MAX remain for files of root. The caller has a lock.
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
		uint64_t what;	       /* the file system, or the path */
		uint64_t since, until; /* ns; until: not asked again before */
		uint32_t owner;
		pid_t pair[2];
		bool waits; /* one of the pair still does */
	} v[HUNG_MAX];
	size_t next;
};

/*
 * Who can choose the files of process @pid: its user; users of one namespace count as one. Known
 * until the process ends. 0 also for pid 0: the rules name the file.
 */
uint32_t hung__owner(pid_t pid);

/* Note that @pair waited for @r until it was ended, after @waited ns. @waits: it did not end. */
void hung__note(struct hung *h, const struct examine_request *r, const pid_t pair[2],
		uint64_t waited, bool waits);
/* Does any process still wait? */
bool hung__any(const struct hung *h);
/* The @n processes @pids are all that are left: forget those that waited and have ended. */
void hung__update(struct hung *h, const pid_t *pids, size_t n);
/* Is @r not to be asked, because of its file system or of who owns it? */
bool hung__refuses(const struct hung *h, const struct examine_request *r);

#endif
