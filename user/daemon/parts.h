/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of everything that records: host data, side band, detectors, trigger thread, log of
 * suppressed matches. The daemon and `frbpf run` both start them here, and then put rules in force.
 * Life: open, use, free. For one thread, except for parts with a lock of their own.
 */
#ifndef FRBPF_DAEMON_PARTS_H
#define FRBPF_DAEMON_PARTS_H

#include <pthread.h>

#include "daemon/explainer.h"
#include "daemon/incident_notes.h"
#include "daemon/recorder.h"
#include "examine/keeper.h"

struct parts_opts {		   /* all of it is borrowed until parts__free() */
	struct base_dir *base;	   /* where dumps and manifests go */
	struct tracefs *tracefs;   /* NULL: there is none */
	struct examiner *examiner; /* NULL: only the kernel's build ids and names are used */
	const char *program;	   /* path of this binary, for the dumps */
	const char *app_path;	   /* the socket of `app:` rules; used by parts__open() only */
	int app_dir_fd;		   /* its directory */
};

struct parts { /* { 0 } is legal to free */
	struct parts_opts opts;
	struct host_info *host;
	struct perfdata_tracing tracing;
	struct cpu_follow *cpus;
	struct sideband *sideband;
	struct horizon *horizon;
	struct detectors *detectors;
	struct recorder *recorder;
	struct suppressed_log *suppressed;
	struct followed_log *followed;
	struct disk_room room;
	struct dump_env dump_env; /* for sessions that are started later */
	struct own_processes {
		pthread_mutex_t lock;
		pid_t examiner[KEEPER_PROCESSES_MAX], explainer[EXPLAINER_PIDS];
		size_t n_examiner;
	} own;
};

/*
 * Start everything except rules and sessions. Raises the limit of open files to its maximum, so
 * fork processes that start commands before. @ret must not move. 0 or negative errno with a message
 * in @err; call parts__free() in both cases.
 */
int parts__open(const struct parts_opts *opts, const struct daemon_conf *conf, struct err *err,
		struct parts *ret);
void parts__free(struct parts *p);

/*
 * Treat the processes @pids, which explain incidents, as our own; 0: none. They replace those of an
 * earlier call.
 */
void parts__own_explainer(struct parts *p, const pid_t pids[static EXPLAINER_PIDS]);

/*
 * Readable when CPUs came or went; then call parts__follow_cpus(), once rules are in force.
 * Failures are logged.
 */
int parts__cpus_fd(const struct parts *p);
void parts__follow_cpus(struct parts *p);

/* Name a written incident, if every session failed before it had a name. */
void parts__name_incident(struct parts *p, struct incident *inc);
/*
 * Write the manifest of @inc, and note it for the counts of suppressed matches and for the ends of
 * pending events. 0 or negative errno, which is logged.
 */
int parts__save_incident(struct parts *p, struct incident *inc);

#endif
