/* SPDX-License-Identifier: GPL-2.0-only */
/* The process frbpf-admin: see admin.h. Private to user/admin. */
#ifndef FRBPF_ADMIN_SERVER_H
#define FRBPF_ADMIN_SERVER_H

#define ADMIN_TITLE "frbpf-admin"
#define ADMIN_SECONDS                                                                              \
	5 /* time limit of one request, s: then the process ends, and another takes over */

/*
 * Serve requests from @sock until its other end is closed. A child serves, limited to few system
 * calls. This process only waits for it, and starts another when it dies.
 */
void admin_server__run(int sock) __attribute__((noreturn));

#endif
