/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What everything that records is made of: data about the host, side band, detectors, trigger thread, log of what was
 * suppressed. The daemon and `frbpf run` bring it up in this one way and put rules in force with it. Life: open, use,
 * free. For one thread, but for the parts that lock themselves.
 */
#ifndef FRBPF_DAEMON_PARTS_H
#define FRBPF_DAEMON_PARTS_H

#include <pthread.h>

#include "daemon/cpu_follow.h"
#include "daemon/suppressed.h"
#include "daemon/recorder.h"
#include "examine/keeper.h"

struct parts_opts {		   /* all of it is borrowed until parts__free() */
	struct base_dir *base;	   /* where dumps and manifests go */
	struct tracefs *tracefs;   /* NULL: there is none */
	struct examiner *examiner; /* NULL: build ids and names are those that the kernel tells */
	const char *program;	   /* for the dumps */
	const char *app_path;	   /* the socket of `app:` rules; for parts__open() alone */
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
	struct disk_room room;
	struct dump_env dump_env; /* of the sessions to come */
	struct own_processes {
		pthread_mutex_t lock;
		pid_t examiner[KEEPER_PROCESSES_MAX], explainer;
		size_t n_examiner;
	} own;
};

/*
 * Bring everything up but rules and sessions. Raises the limit of open files to what is allowed; who starts commands
 * forks before. @ret must stay where it is. 0 or negative errno with words; parts__free() is due in both cases.
 */
int parts__open(const struct parts_opts *opts, const struct daemon_conf *conf, struct err *err,
		struct parts *ret);
void parts__free(struct parts *p);

/* Process @pid explains incidents: it is one of ours from now on, as no other one that was told here. */
void parts__own_explainer(struct parts *p, pid_t pid);

/* Readable when CPUs came or went; follow them then, once rules are in force. What fails is logged. */
int parts__cpus_fd(const struct parts *p);
void parts__follow_cpus(struct parts *p);

/* An incident is written. Name it, if every session failed before it had a name. */
void parts__name_incident(struct parts *p, struct incident *inc);
/* Write its manifest, and what was suppressed after it. 0 or negative errno, which is logged. */
int parts__save_incident(struct parts *p, struct incident *inc);

#endif
