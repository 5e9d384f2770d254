/* SPDX-License-Identifier: GPL-2.0-only */
/* Looks up functions and static probes in one open file. Runs in a process that may die of it. */
#ifndef FRBPF_EXAMINE_PROBE_SEARCH_H
#define FRBPF_EXAMINE_PROBE_SEARCH_H

#include "common/demangler.h"
#include "common/err.h"
#include "examine/probe/probe_found.h"

/* What is looked into: open files, borrowed. */
struct probe_files_open {
	int fd;
	const char *name; /* in messages */
	bool ours;	  /* only root, or the user we are, can write to it */
	const int *debug; /* perhaps its debug files; all of them ours */
	size_t n_debug;
};

/*
 * Answer @q. @demangler: NULL: there is none. 0; negative errno with words in @err: what is missing, and what could be
 * meant; or -EAGAIN: debug files may have more, ask again with those of @ret_id and @ret_link. @may_ask: it may say so.
 */
int probe_search__run(const struct examine_probe *q, const struct probe_files_open *files,
		      const struct demangler *demangler, bool may_ask, struct probe_found *ret,
		      struct build_id *ret_id, char ret_link[EXAMINE_LINK_MAX], struct err *err);

#endif
