/* SPDX-License-Identifier: GPL-2.0-only */
/* Serves the requests of commands. */
#ifndef FRBPF_DAEMON_REQUESTS_H
#define FRBPF_DAEMON_REQUESTS_H

#include "daemon/daemon_core.h"

/* A control_fn: @arg is the daemon. */
void requests__serve(struct control_client *c, const json_t *request, void *arg);

/* Answer the clients that wait for the files of @inc, which are complete. */
void requests__answer_dump(struct daemon *d, const struct incident *inc);

/*
 * Stop the daemon, and remember for the log that process @pid of user @uid asked for it by @what.
 * @pid 0: from another pid namespace, or the kernel.
 */
void requests__note_stop(struct daemon *d, const char *what, int pid, unsigned int uid);

/* Answer the clients that asked to stop. Called at the end. */
void requests__answer_stops(struct daemon *d);

#endif
