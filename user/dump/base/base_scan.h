/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a base has on disk, by incident: the names of files decide, nothing is opened. Of one incident
 * there may be
 *
 *	incidents/TIME.json          its manifest: it is whole
 *	incidents/.draft-TIME.json   it is being written, or was when the recorder was killed
 *	incidents/.gone-TIME.json    it is being removed, or was then: what is left of it goes
 *	session-NAME/perf.data.TIME  its dumps; with -o under another name: dump_name.h
 */
#ifndef FRBPF_DUMP_BASE_BASE_SCAN_H
#define FRBPF_DUMP_BASE_BASE_SCAN_H

#include "dump/base/base_dir.h"

enum { BASE_MANIFEST = 1, BASE_DRAFT = 2, BASE_GONE = 4 };

struct base_incident {
	char name[INCIDENT_NAME_SIZE];
	unsigned int files; /* BASE_* that are there */
	size_t n_dumps;
	uint64_t bytes;	  /* of all that is there */
	uint64_t written; /* mtime of the manifest, CLOCK_REALTIME, ns */
};

struct base_session {
	char name[NAME_MAX + 1]; /* of the directory */
	int fd;			 /* owned */
};

struct base_scan { /* { 0 } is legal to free */
	const struct base_dir *b;
	struct base_incident *v; /* by name; owned */
	size_t n, cap;
	struct base_session *sessions; /* owned */
	size_t n_sessions, sessions_cap;
	uint64_t tmp_bytes; /* of files that are being written */
};

/* 0, -ENOMEM, or why a directory cannot be read. @ret must be freed in any case. */
int base_scan__read(const struct base_dir *b, struct base_scan *ret);
void base_scan__free(struct base_scan *s);

/*
 * Remove all that an incident has. It is gone at once, for whoever lists incidents: the first step
 * renames its manifest, the last one removes that, and what a kill leaves in between the next start
 * goes on with. 0, or the last error; *ret_failed is how many files remain.
 */
int base_scan__remove(const struct base_scan *s, const struct base_incident *inc,
		      uint64_t *ret_failed);

#endif
