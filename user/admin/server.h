/* SPDX-License-Identifier: GPL-2.0-only */
/* The process frbpf-admin: see admin.h. Private to user/admin. */
#ifndef FRBPF_ADMIN_SERVER_H
#define FRBPF_ADMIN_SERVER_H

#define ADMIN_TITLE "frbpf-admin"
#define ADMIN_SECONDS                                                                              \
	5 /* that one request may take: then the process ends, and another one takes over */

/*
 * Serve the requests that come by @sock until its other end is closed. One process waits and has no
 * other job; the other one serves, with few system calls, and is replaced when it dies.
 */
void admin_server__run(int sock) __attribute__((noreturn));

#endif
