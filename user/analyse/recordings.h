/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the recordings that a path stands for: one file, or all perf.data files below a directory,
 * grouped by session.
 */
#ifndef FRBPF_ANALYSE_RECORDINGS_H
#define FRBPF_ANALYSE_RECORDINGS_H

#include <stddef.h>

#include "common/err.h"

struct recording_session {
	/*
	 * NAME for a directory session-NAME, otherwise the name of the file's directory; "" for
	 * files in the given directory itself; owned
	 */
	char *name;
	char **files; /* sorted paths; owned */
	size_t n_files;
};

struct recordings {		     /* { 0 } is an empty one */
	struct recording_session *v; /* sorted by name; owned */
	size_t n;
};

/*
 * Find perf.data, perf.data.* and dumps, but not *.old, which a newer recording replaced. Links are
 * not followed. -ENOENT: there are none, or @path does not exist; message in @err.
 */
int recordings__find(const char *path, struct err *err, struct recordings *ret);
/* Add one file. 0 or -ENOMEM. */
int recordings__add(struct recordings *r, const char *session, const char *file);
/* Find a session by name. NULL: there is none. */
const struct recording_session *recordings__session(const struct recordings *r, const char *name);
void recordings__free(struct recordings *r);

#endif
