/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The process that starts the others, in pairs of an opener and a parser, and ends them. It is forked before there is
 * anything in memory, opens no file and waits for nobody: it always answers.
 */
#ifndef FRBPF_EXAMINE_KEEPER_H
#define FRBPF_EXAMINE_KEEPER_H

#include <stdint.h>
#include <sys/types.h>

#define KEEPER_PROCESSES_MAX 12 /* at a time: two for each lane, and those that do not end */
#define KEEPER_STUCK_MAX     4	/* as many that do not end: no more are started */

enum keeper_op {
	KEEPER_START, /* answered with two descriptors: for requests, for answers */
	KEEPER_END,   /* kill a pair */
	KEEPER_LIST,
};

struct keeper_request {
	uint32_t op;
	uint32_t of_probes; /* of a start: 1: names of C++ are compared */
	pid_t pair[2];
};

struct keeper_reply {
	int32_t error; /* of a start; -EBUSY: too many are stuck */
	uint32_t n_stuck;
	pid_t pair[2];
	uint32_t n_pids;
	pid_t pids[KEEPER_PROCESSES_MAX]; /* all that there are */
};

/* Serve @sock until its other end is closed; then end all. */
void keeper__run(int sock) __attribute__((noreturn));

#endif
