/* SPDX-License-Identifier: GPL-2.0-only */
/* Processes of ours that do something apart, forked before there is anything in memory. */
#ifndef FRBPF_COMMON_HELPER_H
#define FRBPF_COMMON_HELPER_H

/*
 * Fork a process that calls @run with its end of a pair of SOCK_SEQPACKET sockets, and does not
 * return. It is no child of ours, has a session of its own, and no other descriptor of ours but the null device.
 * @title: what `ps` shows. @ret_sock: our end, which the caller closes. Negative errno.
 */
int helper__fork(const char *title, void (*run)(int sock), int *ret_sock);

/* What `ps` shows of a process without threads, and who looks for daemons by their command line: it
 * must not be taken for one. What the arguments had no room for is cut. */
void helper__set_title(const char *title);

/*
 * In a helper: the signals that stop a service are ignored, because they may reach its whole group
 * while the daemon still writes. All are unblocked, and SIGCHLD does what it does by default.
 */
void helper__ignore_signals(void);

#endif
