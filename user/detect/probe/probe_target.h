/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Resolves the `when` of a rule on a function or a static probe to places in files. A probe belongs
 * to a file and covers all processes that run it, now or later. It stays with the file that was
 * looked up, also if another file gets that name.
 */
#ifndef FRBPF_DETECT_PROBE_TARGET_H
#define FRBPF_DETECT_PROBE_TARGET_H

#include <sys/stat.h>

#include "common/err.h"
#include "examine/probe/probe_found.h"
#include "rules/when.h"

#define PROBE_PLACES_MAX 64 /* files of one target */

struct probe_place {
	char *name;		  /* of the file; owned */
	int fd;			  /* the open file; owned */
	struct stat st;		  /* at the time of the lookup */
	struct probe_found found; /* owned */
};

struct probe_target {
	char *path, *provider; /* owned; provider: usdt only */
	char *symbol;	       /* owned; usdt: the name of the probe */
	uint64_t offset;       /* uprobe only: from the symbol */
	bool latency;
	struct probe_place *places; /* owned; at least one */
	uint32_t n_places;
};

/*
 * Look up @target of a `when` of @source. 0, or negative errno; @err then says what is missing, and
 * suggests a name. Needs no privilege but to read the files.
 */
int probe_target__find(enum frbpf_source source, const char *target, struct probe_target **ret,
		       struct err *err);
/* Would a lookup now find the same files, or none? Otherwise the target has to be found anew. */
bool probe_target__is_current(const struct probe_target *t, enum frbpf_source source,
			      const char *target);
void probe_target__free(struct probe_target *t);

#endif
