/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of the daemon's main loop share. Private to daemon.c and requests.c. */
#ifndef FRBPF_DAEMON_DAEMON_CORE_H
#define FRBPF_DAEMON_DAEMON_CORE_H

#include "daemon/control.h"
#include "daemon/daemon.h"
#include "daemon/parts.h"
#include "daemon/retainer.h"
#include "daemon/rulebook.h"
#include "daemon/saved_state.h"

#define DUMPS_WAITING_MAX 16

/* A client that waits for the files of its dump. */
struct waiting_dump {
	struct control_client *client; /* NULL: free */
	uint64_t incident;
};

struct daemon {
	const struct daemon_opts *opts;
	struct base_dir base;
	struct parts parts;
	struct tracefs *tracefs; /* borrowed; NULL: there is none */
	struct control *control;
	struct rulebook *rulebook;
	struct proxies *proxies;
	struct state_keeper *keeper;
	struct retainer *retainer;
	struct retention_limits retained; /* the limits that the retainer was given last */
	bool looked;
	struct waiting_dump waiting[DUMPS_WAITING_MAX];
	struct control_client *stopping[CONTROL_CLIENTS_MAX]; /* asked to stop; answered last */
	size_t n_stopping;
	uint64_t started;
	int epoll, signals, base_watch;
	bool stop, ended;
	char stopped_by[96]; /* for the log */
};

#endif
