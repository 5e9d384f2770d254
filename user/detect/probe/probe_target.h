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
#include "detect/probe/find_func.h"
#include "rules/when.h"

#define PROBE_PLACES_MAX 64 /* files of one target */

struct probe_func {
	char *name;	   /* of the symbol; owned */
	uint64_t offset;   /* in the file, of its first instruction, or of that at +OFFSET */
	uint32_t jumps;	   /* calls may end in another function: these are not measured */
	uint32_t indirect; /* or perhaps here */
	uint32_t n_exits;  /* of a rule with a threshold: its return instructions */
	uint64_t exits[FUNC_EXITS_MAX]; /* offsets in the file */
};

/* A place in the code where a static probe is. */
struct probe_usdt {
	uint64_t offset;    /* in the file */
	uint64_t semaphore; /* likewise; 0: it has none */
	struct frbpf_usdt_place args;
};
#define PROBE_USDT_MAX 1024 /* of one file */

struct probe_place {
	char *name;		  /* of the file; owned */
	int fd;			  /* it is; owned */
	struct stat st;		  /* when it was looked at */
	struct probe_func *funcs; /* owned; of uprobe */
	uint32_t n_funcs;
	struct probe_usdt *probes; /* owned; of usdt */
	uint32_t n_probes;
	uint32_t n_args; /* of usdt: in that with the most */
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
