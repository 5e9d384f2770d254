/* SPDX-License-Identifier: GPL-2.0-only */
/* What commands ask the daemon for, and its answers. */
#ifndef FRBPF_DAEMON_REQUESTS_H
#define FRBPF_DAEMON_REQUESTS_H

#include "daemon/daemon_core.h"

/* A control_fn: @arg is the daemon. */
void requests__serve(struct control_client *c, const json_t *request, void *arg);

/* The files of @inc are there: answer who waits for them. */
void requests__answer_dump(struct daemon *d, const struct incident *inc);

/* Stop, and remember for the log that @what of process @pid wanted it. @pid 0: of another pid
 * namespace, or the kernel. */
void requests__note_stop(struct daemon *d, const char *what, int pid, unsigned int uid);

/* At the end: answer those who asked for it. */
void requests__answer_stops(struct daemon *d);

#endif
