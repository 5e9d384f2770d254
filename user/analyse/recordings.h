/* SPDX-License-Identifier: GPL-2.0-only */
/* The recordings that somebody means by a path: one file, or all perf.data files below a folder,
 * grouped by session. */
#ifndef FRBPF_ANALYSE_RECORDINGS_H
#define FRBPF_ANALYSE_RECORDINGS_H

#include <stddef.h>

#include "common/err.h"

struct recording_session {
	char *name; /* NAME of a folder session-NAME, else the name of the file's folder; "" in the folder
		       that was given; owned */
	char **files; /* paths, sorted; owned */
	size_t n_files;
};

struct recordings {		     /* { 0 } is an empty one */
	struct recording_session *v; /* by name; owned */
	size_t n;
};

/* Find perf.data, perf.data.* (but *.old, which perf replaced) and dumps, following no link. -ENOENT:
 * there are none, or no @path; words in @err. */
int recordings__find(const char *path, struct err *err, struct recordings *ret);
/* Add one file. 0 or -ENOMEM. */
int recordings__add(struct recordings *r, const char *session, const char *file);
/* NULL: none of that name. */
const struct recording_session *recordings__session(const struct recordings *r, const char *name);
void recordings__free(struct recordings *r);

#endif
