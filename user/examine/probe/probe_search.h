/* SPDX-License-Identifier: GPL-2.0-only */
/* Looks up functions and static probes in one open file. Runs in the parser. */
#ifndef FRBPF_EXAMINE_PROBE_SEARCH_H
#define FRBPF_EXAMINE_PROBE_SEARCH_H

#include "common/err.h"
#include "examine/probe/probe_found.h"
#include "symbols/demangle.h"

/* Open files to search, borrowed. */
struct probe_files_open {
	int fd;
	const char *name; /* in messages */
	bool ours;	  /* only root and our user can write to it */
	const int *debug; /* candidates for its debug file, all of them ours */
	size_t n_debug;
};

/*
 * Answer @q. @demangler may be NULL. 0, or negative errno, with a message in @err: what is missing,
 * and a similar name. -EAGAIN, only with @may_ask: a debug file may have more functions; ask again
 * with the file that @ret_id and @ret_link name.
 */
int probe_search__run(const struct examine_probe *q, const struct probe_files_open *files,
		      const struct demangler *demangler, bool may_ask, struct probe_found *ret,
		      struct build_id *ret_id, char ret_link[EXAMINE_LINK_MAX], struct err *err);

#endif
