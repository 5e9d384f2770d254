/* SPDX-License-Identifier: GPL-2.0-only */
/* Helper processes of frbpf, forked early, while there is nothing private in memory. */
#ifndef FRBPF_COMMON_HELPER_H
#define FRBPF_COMMON_HELPER_H

/*
 * Fork a process that calls @run with its end of a pair of SOCK_SEQPACKET sockets; @run does not
 * return. The process is not our child, has a session of its own, and no other descriptor but the
 * null device. @title: shown by `ps`. @ret_sock: our end, which the caller closes. 0 or negative
 * errno.
 */
int helper__fork(const char *title, void (*run)(int sock), int *ret_sock);

/*
 * Set the command line that `ps` shows for this process, which must have no other threads. The
 * title is cut to the size of the original arguments. Daemons are found by their command line: a
 * helper must not be taken for one.
 */
void helper__set_title(const char *title);

/*
 * In a new process: use the null device for the standard descriptors, make @sock descriptor 3, and
 * close all others. Change to /, and begin a session, so that Ctrl-C does not reach the process.
 * Ends the process if that fails.
 */
void helper__detach(int sock);

/*
 * In a helper: ignore the signals that stop a service. They may be sent to the whole group while
 * the daemon still writes. Unblocks all signals, and sets SIGCHLD to its default.
 */
void helper__ignore_signals(void);

#endif
