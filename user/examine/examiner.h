/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Looks into files of others without being harmed by them: build ids of mapped files, names of functions. Two
 * processes do it, of which one opens files and the other, without any rights, reads them. They may hang
 * (a file system that does not answer) or die (a file that is made for that): then the answer is that nothing is
 * known.
 *
 * Life: new, as early as possible, before there are threads and before the process is to adopt others' children; ask, from any thread; free.
 */
#ifndef FRBPF_EXAMINE_EXAMINER_H
#define FRBPF_EXAMINE_EXAMINER_H

#include <sys/types.h>

#include "common/buf.h"
#include "examine/message.h"

struct examiner;

/* Each has processes of its own, and waits for itself only. */
enum examiner_lane {
	EXAMINER_BUILD_IDS,
	EXAMINER_NAMES,
	EXAMINER_REACH,
	EXAMINER_PROBES,
	EXAMINER_LANES
};

/* 0, -ENOMEM or the errno of fork(). */
int examiner__new(struct examiner **ret);
/* NULL is legal. Does not wait for who is stuck. */
void examiner__free(struct examiner *e);

/* A child of ours has it from now on: forget it here, without waiting. NULL is legal. */
void examiner__leave(struct examiner *e);

struct examine_answer {
	struct examine_head head;
	size_t len;
	char msg[EXAMINE_ANSWER_MAX]; /* for examine_answer__next() */
};

/*
 * Ask until @deadline, ns. 0, with a checked answer in @ret; -ETIMEDOUT: nobody answered until then; -EIO: who was to
 * answer has died; -EBUSY: too many are stuck, or none may be asked for this file system, where one has hung
 * lately; -ECANCELED.
 */
int examiner__ask(struct examiner *e, enum examiner_lane lane, struct examine_request *request,
		  uint64_t deadline, struct examine_answer *ret);

/*
 * Ask EXAMINE_PROBE about the open file @file, in the lane of that. As above, and -EBADMSG: it is no answer. The bytes of
 * all its parts come in @body, which loses what it had; nothing but their number is checked.
 */
int examiner__ask_file(struct examiner *e, struct examine_request *request, int file,
		       uint64_t deadline, struct examine_head *ret, struct buf *body);

/*
 * Can the file at @path be opened, or is it known why not, within a few
 * seconds? 0, or -ETIMEDOUT: it does not answer. Whatever else goes wrong says nothing about the file, and is 0, too.
 */
int examiner__reach(struct examiner *e, const char *path);

/* Nothing more is asked for now: the lane's processes end. */
void examiner__rest(struct examiner *e, enum examiner_lane lane);

/* From now on all questions end with -ECANCELED ... */
void examiner__cancel(struct examiner *e);
/* ... until then. */
void examiner__resume(struct examiner *e);

/* How many processes do not end, because a file system does not answer them. */
size_t examiner__n_stuck(struct examiner *e);

/* Tell @fn the pids of all processes, whenever that may have changed. Its caller has a lock: it asks nothing. */
void examiner__follow(struct examiner *e, void (*fn)(const pid_t *pids, size_t n, void *arg),
		      void *arg);

#endif
