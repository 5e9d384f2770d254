/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a probe is put into, of one file: what the process that reads it answers. Whoever receives that checks it, as the
 * file may have taken the process over.
 */
#ifndef FRBPF_EXAMINE_PROBE_FOUND_H
#define FRBPF_EXAMINE_PROBE_FOUND_H

#include "common/buf.h"
#include "examine/message.h"
#include "examine/probe/find_func.h"
#include "frbpf.h"

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

/* A function or static probe that there is. */
struct probe_name {
	char *name, *meaning; /* owned */
};

struct probe_found {		  /* { 0 } is an empty one */
	struct probe_func *funcs; /* owned */
	uint32_t n_funcs;
	struct probe_usdt *probes; /* owned */
	uint32_t n_probes;
	uint32_t n_args;	  /* of static probes: in that with the most */
	struct probe_name *names; /* owned; of a list */
	uint32_t n_names;
};

/* 0 or -ENOMEM. */
int probe_found__add_name(struct probe_found *f, const char *name, const char *meaning);
int probe_found__encode(const struct probe_found *f, struct buf *to);
/* 0; -ENOMEM; -EBADMSG: that is no answer to @q about a file of @file_size bytes. */
int probe_found__decode(const void *data, size_t len, const struct examine_probe *q,
			uint64_t file_size, struct probe_found *ret);
void probe_found__free(struct probe_found *f);

#endif
