/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads files of other users safely: build ids of mapped files, names of functions, what probes
 * need, memory of their threads. One process opens the files; another, without privileges, reads
 * them. These processes may hang (a file system that does not answer) or crash (a malicious file).
 * The caller then gets an error.
 *
 * Life: new, before there are threads and before the process becomes a subreaper; ask, from any
 * thread; free.
 */
#ifndef FRBPF_EXAMINE_EXAMINER_H
#define FRBPF_EXAMINE_EXAMINER_H

#include <sys/types.h>

#include "common/buf.h"
#include "examine/message.h"

struct examiner;

/* Each lane has processes of its own, so that no lane waits for another. */
enum examiner_lane {
	EXAMINER_BUILD_IDS,
	EXAMINER_NAMES,
	EXAMINER_REACH,
	EXAMINER_PROBES,
	EXAMINER_TASKS,
	EXAMINER_LANES
};

/* 0, -ENOMEM or the errno of fork(). */
int examiner__new(struct examiner **ret);
/* NULL is legal. Does not wait for processes that are stuck. */
void examiner__free(struct examiner *e);

/* Free our copy after a fork: the child keeps using the examiner. NULL is legal. */
void examiner__leave(struct examiner *e);

struct examine_answer {
	struct examine_head head;
	size_t len;
	char msg[EXAMINE_ANSWER_MAX]; /* for examine_answer__next() */
};

/*
 * Ask, and wait until @deadline, ns. 0: @ret has a checked answer; -ETIMEDOUT: no answer came in
 * time; -EIO: the process died; -EBUSY: not asked, since too many processes are stuck, in total or
 * on file systems of this user, or since this file system hung lately; -ECANCELED.
 */
int examiner__ask(struct examiner *e, enum examiner_lane lane, struct examine_request *request,
		  uint64_t deadline, struct examine_answer *ret);

/*
 * Ask EXAMINE_PROBE about the open file @file, in the lane EXAMINER_PROBES. Errors as above;
 * -EBADMSG: the answer is malformed. @body is replaced by the bytes of all parts; only their number
 * is checked.
 */
int examiner__ask_file(struct examiner *e, struct examine_request *request, int file,
		       uint64_t deadline, struct examine_head *ret, struct buf *body);

/*
 * Read @size bytes of a file of /proc/@tid, from @at, in the lane EXAMINER_TASKS. Afterwards the
 * caller checks that the tid still belongs to the same thread. Returns the number of bytes; errors
 * as for examiner__ask(), or the errno of the read.
 */
ssize_t examiner__read_task(struct examiner *e, pid_t tid, enum examine_task_file file, uint64_t at,
			    void *to, size_t size);

/*
 * Does opening @path end within a few seconds? 0: yes, also if it fails, or if nobody can be
 * asked. -ETIMEDOUT: its file system hangs.
 */
int examiner__reach(struct examiner *e, const char *path);

/* End the processes of a lane that has no questions for now. */
void examiner__rest(struct examiner *e, enum examiner_lane lane);

/* All questions end with -ECANCELED from now on ... */
void examiner__cancel(struct examiner *e);
/* ... until this is called. */
void examiner__resume(struct examiner *e);

/* Number of processes that cannot be ended, because they wait for a file system. */
size_t examiner__n_stuck(struct examiner *e);

/*
 * Call @fn with the pids of all our processes whenever they may have changed. @fn runs under a lock
 * of the examiner, so it must not call the examiner.
 */
void examiner__follow(struct examiner *e, void (*fn)(const pid_t *pids, size_t n, void *arg),
		      void *arg);

#endif
