/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the parts of the daemon's main loop share: daemon.c, requests.c, session_events.c,
 * timed_dumps.c.
 */
#ifndef FRBPF_DAEMON_DAEMON_CORE_H
#define FRBPF_DAEMON_DAEMON_CORE_H

#include "daemon/control.h"
#include "daemon/culprit_reader.h"
#include "daemon/daemon.h"
#include "daemon/bring_up.h"
#include "daemon/retainer.h"
#include "daemon/rulebook.h"
#include "daemon/state_keeper.h"

#define DUMPS_WAITING_MAX 16

/* A client that waits for the files of its dump. */
struct waiting_dump {
	struct control_client *client; /* NULL: free */
	uint64_t incident;
};

struct daemon {
	const struct daemon_opts *opts;
	struct base_dir base;
	struct bring_up bring_up;
	struct tracefs *tracefs; /* borrowed; NULL: there is none */
	struct control *control;
	struct rulebook *rulebook;
	struct proxies *proxies;
	struct state_keeper *keeper;
	struct retainer *retainer;
	struct culprit_reader *culprit_reader; /* NULL: nothing is explained */
	struct retention_limits retained;      /* the limits that the retainer was given last */
	bool looked;
	struct waiting_dump waiting[DUMPS_WAITING_MAX];
	struct control_client *stopping[CONTROL_CLIENTS_MAX]; /* asked to stop; answered last */
	size_t n_stopping;
	uint64_t started;
	int epoll, signals, base_watch;
	bool stop, ended;
	char stopped_by[96]; /* for the log */
};

/* ---- requests.c: serves the requests of commands ---- */

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

/*
 * ---- session_events.c: handles events of the sessions' processes, and reports dumps to them ----
 */

/* Handle signals to the sessions' processes, lines of their fifos, and ends of their commands. */
void session_events__process(struct daemon *d);

/* End a plain session whose file is complete: --max-size is reached, or it cannot be written. */
void session_events__end_full(struct daemon *d);

/* Report the files of @inc in the output of their sessions. They are complete. */
void session_events__report_dump(const struct daemon *d, const struct incident *inc);

/* Dump all sessions when the daemon ends, if perf daemon would do so. */
void session_events__dump_last(struct daemon *d);

/* ---- timed_dumps.c: periodic dumps of sessions with --switch-output=SIZE or TIME ---- */

/* Dump the sessions that are due. Returns ns until the next call, or UINT64_MAX. */
uint64_t timed_dumps__step(struct recorder *r);

/*
 * Add the limits of --switch-max-files to @ret: for each session the number of its periodic dumps
 * to keep. A session that makes none gets a limit for its dumps without a rule.
 */
void timed_dumps__limits(const struct active_set *g, struct retention_limits *ret);

#endif
