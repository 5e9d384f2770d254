/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes one perf.data file: the rings of one session, trimmed to the incident's window. Adds what
 * names addresses, and markers that say why the file exists.
 */
#ifndef FRBPF_DUMP_DUMP_H
#define FRBPF_DUMP_DUMP_H

#include "dump/base/base_dir.h"
#include "dump/base/disk_room.h"
#include "dump/rings/freeze.h"
#include "dump/rings/horizon.h"
#include "dump/rings/ring_history.h"
#include "dump/incident/incident.h"
#include "perfdata/writer.h"
#include "sideband/sideband.h"

/* Shared by all dumps of a daemon, made when it starts. All members are borrowed. */
struct dump_env {
	struct base_dir *base;
	struct disk_room *room; /* of the base's file system */
	struct sideband *sideband;
	const struct host_info *host;
	const struct perfdata_tracing *tracing;
	const char *program;	 /* path of this binary, for the CMDLINE feature */
	struct horizon *horizon; /* contains every session that is dumped */
	/* Called in the writing thread before any file of @inc is written; may be NULL. */
	void (*before_write)(void *arg, const struct incident *inc);
	void *before_write_arg;
};

/* Input of a dump. */
struct dump_job {
	const struct dump_env *env;
	struct incident *inc;
	struct session *session;
	const struct ring_shot *shots; /* one per CPU; the copies are in session->cpus[].copy */
	const struct gap_log *gaps;    /* one per CPU */
	int dir_fd;		       /* directory of the session */
	/* struct frbpf_asleep: tasks that slept at the end of the window; NULL: none */
	const struct buf *asleep;
};

/*
 * Write the file and fill @ret, which the caller zeroes. ret->cpus is allocated here and owned by
 * @ret. Errors go to ret->error and ret->error_text; then no file is left.
 */
void dump__write(const struct dump_job *job, struct dump_result *ret);

/*
 * Set the name of the file of @s. The incident's first session that gets here reserves the name,
 * and writes the draft of the manifest. 0 or negative errno with a message in @err.
 */
int dump__name_file(const struct dump_env *env, struct incident *inc, const struct session *s,
		    struct dump_result *res, struct err *err);

#endif
