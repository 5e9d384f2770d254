/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a rule on a function or a static probe is attached to: its `when` looked up in files. A probe
 * belongs to a file, whoever runs it, now or later: the file that is there when it is looked up, not
 * one that takes its name afterwards.
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
	int fd;			  /* it is; owned */
	struct stat st;		  /* when it was looked at */
	struct probe_found found; /* owned */
};

struct probe_target {
	char *path, *provider; /* owned; provider is of usdt */
	char *symbol;	       /* owned; of usdt: the probe's name */
	uint64_t offset;       /* of uprobe: behind the symbol */
	bool latency;
	struct probe_place *places; /* owned; at least one */
	uint32_t n_places;
};

/* Look up @target, that of a `when` of @source. Negative errno with words in @err: what is missing, and
 * what could be meant. Needs the right to read the files, nothing more. */
int probe_target__find(enum frbpf_source source, const char *target, struct probe_target **ret,
		       struct err *err);
/* Would it be found in the same files now, or not at all? */
bool probe_target__is_current(const struct probe_target *t, enum frbpf_source source,
			      const char *target);
void probe_target__free(struct probe_target *t);

#endif
