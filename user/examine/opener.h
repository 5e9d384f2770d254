/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The process that opens files of others: it has the rights for that, compares what it has opened with what is
 * meant, and hands the descriptors on. It reads nothing of them. A file system that hangs, hangs it.
 */
#ifndef FRBPF_EXAMINE_OPENER_H
#define FRBPF_EXAMINE_OPENER_H

#include "examine/message.h"

/* What the parser gets: together with @n_files descriptors of the file itself, in the order in which they are to be
 * tried, and behind them @n_debug of debug files. */
struct opened {
	struct examine_request request;
	uint32_t n_files, n_debug;
	uint32_t ours; /* of EXAMINE_PROBE: 1: nobody else can write to the file */
};

#define OPENED_FDS_MAX 10

/* Serve requests from @requests, a socket, until its other end is closed; what is opened goes to @parser. */
void opener__run(int requests, int parser) __attribute__((noreturn));

#endif
