/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The process that starts and ends openers and parsers, always in pairs. It is forked early, while
 * there is nothing private in memory. It opens no file and never waits without a limit, so it
 * always answers.
 */
#ifndef FRBPF_EXAMINE_KEEPER_H
#define FRBPF_EXAMINE_KEEPER_H

#include <stdint.h>
#include <sys/types.h>

#define KEEPER_PROCESSES_MAX 18 /* two for each lane, and those that are stuck */
#define KEEPER_STUCK_MAX     8	/* no pair is started while so many processes are stuck */

enum keeper_op {
	KEEPER_START, /* start a pair; the reply has two descriptors: for requests, for answers */
	KEEPER_END,   /* kill a pair */
	KEEPER_LIST,
};

struct keeper_request {
	uint32_t op;
	uint32_t of_probes; /* of KEEPER_START; 1: for probes, with a demangler */
	pid_t pair[2];
};

struct keeper_reply {
	int32_t error; /* of KEEPER_START; -EBUSY: too many are stuck */
	uint32_t n_stuck;
	pid_t pair[2];
	uint32_t n_pids;
	pid_t pids[KEEPER_PROCESSES_MAX]; /* all children of the keeper */
};

/* Serve @sock until its other end is closed, then end all children. */
void keeper__run(int sock) __attribute__((noreturn));

#endif
