/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One perf.data file: the rings of one session, trimmed to the incident's window, merged with what
 * names addresses and with the markers that say why the file exists.
 */
#ifndef FRBPF_DUMP_DUMP_H
#define FRBPF_DUMP_DUMP_H

#include "dump/base/base_dir.h"
#include "dump/base/disk_room.h"
#include "dump/rings/freeze.h"
#include "dump/rings/horizon.h"
#include "dump/incident/incident.h"
#include "perfdata/writer.h"
#include "sideband/sideband.h"

/* What all dumps of a daemon share; made at its start. Everything borrowed. */
struct dump_env {
	struct base_dir *base;
	struct disk_room *room; /* of the base's file system */
	struct sideband *sideband;
	const struct host_info *host;
	const struct perfdata_tracing *tracing;
	const char *program;	 /* path of this binary, for the CMDLINE feature */
	struct horizon *horizon; /* knows every session that dumps are made of */
	/* Called in the thread that writes, before anything of @inc is; may be NULL. */
	void (*before_write)(void *arg, const struct incident *inc);
	void *before_write_arg;
};

/* What a dump is made of. */
struct dump_job {
	const struct dump_env *env;
	struct incident *inc;
	struct session *session;
	const struct ring_shot *shots; /* one per CPU, the copies are in session->cpus[].copy */
	const struct gap_log *gaps;    /* one per CPU */
	int dir_fd;		       /* of the session */
};

/* Write the file and fill @ret (zeroed by the caller; ret->cpus is allocated here). Errors go to
 * ret->error and ret->error_text; then no file is left. */
void dump__write(const struct dump_job *job, struct dump_result *ret);

#endif
