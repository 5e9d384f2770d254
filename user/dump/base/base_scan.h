/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The incidents on disk in a base, listed by the names of files; no file is opened. An incident may
 * have:
 *
 *	incidents/TIME.json          its manifest: it is complete
 *	incidents/.draft-TIME.json   it is being written; or it was, when the recorder was killed
 *	incidents/.gone-TIME.json    it is being removed; or it was, and the next start continues
 *	session-NAME/perf.data.TIME  its dumps; with -o under another name: dump_name.h
 */
#ifndef FRBPF_DUMP_BASE_BASE_SCAN_H
#define FRBPF_DUMP_BASE_BASE_SCAN_H

#include "dump/base/base_dir.h"

enum { BASE_MANIFEST = 1, BASE_DRAFT = 2, BASE_GONE = 4 };

struct base_incident {
	char name[INCIDENT_NAME_SIZE];
	unsigned int files; /* BASE_* that exist */
	size_t n_dumps;
	uint64_t bytes;	  /* of all its files */
	uint64_t written; /* mtime of the manifest, CLOCK_REALTIME, ns */
};

struct base_session {
	char name[NAME_MAX + 1]; /* name of the session, from its directory */
	int fd;			 /* owned */
};

struct base_scan { /* { 0 } is legal to free */
	const struct base_dir *b;
	struct base_incident *v; /* sorted by name; owned */
	size_t n, cap;
	struct base_session *sessions; /* owned */
	size_t n_sessions, sessions_cap;
	uint64_t tmp_bytes; /* of files that are being written */
};

/* 0, -ENOMEM, or the error of reading a directory. Free @ret in any case. */
int base_scan__read(const struct base_dir *b, struct base_scan *ret);
void base_scan__free(struct base_scan *s);

/*
 * Remove all files of an incident. The first step renames its manifest, so lists of incidents no
 * longer have it. The last step removes the renamed file. If the process is killed in between, the
 * next start continues. 0, or the last error; *ret_failed: number of files that remain.
 */
int base_scan__remove(const struct base_scan *s, const struct base_incident *inc,
		      uint64_t *ret_failed);

#endif
