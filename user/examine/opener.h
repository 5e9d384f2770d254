/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The process that opens files of other users, and has the capabilities for that. It checks that
 * each is the file that is meant, and passes the descriptors to the parser. It never reads files of
 * other users, except /proc/TID/syscall, which the parser may not read. A file system that hangs
 * makes it hang.
 */
#ifndef FRBPF_EXAMINE_OPENER_H
#define FRBPF_EXAMINE_OPENER_H

#include "examine/message.h"

/*
 * Sent to the parser, with descriptors: first n_files of the file itself, to be tried in that
 * order, then n_debug of debug files.
 */
struct opened {
	struct examine_request request;
	uint32_t n_files, n_debug;
	uint32_t ours; /* of EXAMINE_PROBE; 1: only root and our user can write to the file */
};

#define OPENED_FDS_MAX 10

/*
 * Serve requests from the socket @requests until its other end is closed. Open files go to the
 * socket @parser.
 */
void opener__run(int requests, int parser) __attribute__((noreturn));

#endif
