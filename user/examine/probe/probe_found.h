/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parser's answer about one file: places to put probes at. Decoding checks everything, because
 * a malicious file may have taken over the parser.
 */
#ifndef FRBPF_EXAMINE_PROBE_FOUND_H
#define FRBPF_EXAMINE_PROBE_FOUND_H

#include "common/buf.h"
#include "examine/message.h"
#include "examine/probe/find_func.h"
#include "abi.h"

struct probe_func {
	char *name;	   /* name of the symbol; owned */
	uint64_t offset;   /* in the file: of the first instruction, or of that at +OFFSET */
	uint32_t jumps;	   /* tail calls: calls that end in another function are not measured */
	uint32_t indirect; /* indirect jumps, which may be tail calls */
	uint32_t n_exits;  /* return instructions, for a rule with a threshold */
	uint64_t exits[FUNC_EXITS_MAX]; /* offsets in the file */
};

/* A place of a static probe. */
struct probe_usdt {
	uint64_t offset;    /* offset in the file */
	uint64_t semaphore; /* offset in the file of its semaphore; 0: none */
	struct frbpf_usdt_place args;
};
#define PROBE_USDT_MAX 1024 /* of one file */

/* An entry of a list of functions or static probes. */
struct probe_name {
	char *name, *meaning; /* owned */
};

struct probe_found {		  /* { 0 } is an empty one */
	struct probe_func *funcs; /* owned */
	uint32_t n_funcs;
	struct probe_usdt *probes; /* owned */
	uint32_t n_probes;
	uint32_t n_args;	  /* static probes: the largest number of arguments at a place */
	struct probe_name *names; /* owned; of a list */
	uint32_t n_names;
};

/* 0 or -ENOMEM. */
int probe_found__add_name(struct probe_found *f, const char *name, const char *meaning);
int probe_found__encode(const struct probe_found *f, struct buf *to);
/*
 * Decode an answer to @q about a file of @file_size bytes. 0; -ENOMEM; -EBADMSG: it is malformed or
 * impossible.
 */
int probe_found__decode(const void *data, size_t len, const struct examine_probe *q,
			uint64_t file_size, struct probe_found *ret);
void probe_found__free(struct probe_found *f);

#endif
