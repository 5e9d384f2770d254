/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Starts the parts that every recorder has: host data, side band, detectors, trigger thread, log of
 * suppressed matches. The daemon and `frbpf run` both start them here, and then put rules in force.
 * Life: open, use, free. For one thread, except for what has a lock of its own.
 */
#ifndef FRBPF_DAEMON_BRING_UP_H
#define FRBPF_DAEMON_BRING_UP_H

#include <pthread.h>

#include "daemon/explainer.h"
#include "daemon/followed_log.h"
#include "daemon/recorder.h"
#include "daemon/suppressed_log.h"
#include "examine/keeper.h"

struct bring_up_opts {		   /* all of it is borrowed until bring_up__free() */
	struct base_dir *base;	   /* where dumps and manifests go */
	struct tracefs *tracefs;   /* NULL: there is none */
	struct examiner *examiner; /* NULL: only the kernel's build ids and names are used */
	const char *program;	   /* path of this binary, for the dumps */
	const char *app_path;	   /* the socket of `app:` rules; used by bring_up__open() only */
	int app_dir_fd;		   /* the directory of that socket */
};

struct bring_up { /* { 0 } is legal to free */
	struct bring_up_opts opts;
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
 * processes that start commands must be forked earlier. @ret must not move. 0 or negative errno
 * with a message in @err; call bring_up__free() in both cases.
 */
int bring_up__open(const struct bring_up_opts *opts, const struct daemon_conf *conf,
		   struct err *err, struct bring_up *ret);
void bring_up__free(struct bring_up *p);

/*
 * Treat the processes @pids, which explain incidents, as our own; 0: none. They replace those of an
 * earlier call.
 */
void bring_up__own_explainer(struct bring_up *p, const pid_t pids[static EXPLAINER_PIDS]);

/*
 * Readable when CPUs came or went; then call bring_up__follow_cpus(), once rules are in force.
 * Failures are logged.
 */
int bring_up__cpus_fd(const struct bring_up *p);
void bring_up__follow_cpus(struct bring_up *p);

/* Name a written incident that has no name, since every session failed before it could give one. */
void bring_up__name_incident(struct bring_up *p, struct incident *inc);
/*
 * Write the manifest of @inc, and note it for the counts of suppressed matches and for the ends of
 * pending events. 0 or negative errno, which is logged.
 */
int bring_up__save_incident(struct bring_up *p, struct incident *inc);

#endif
