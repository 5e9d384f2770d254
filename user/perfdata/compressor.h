/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records of a file, compressed as `perf record -z` does: pieces of one zstd stream, each in a record
 * of type COMPRESSED. Life: new, add, flush, free.
 */
#ifndef FRBPF_PERFDATA_COMPRESSOR_H
#define FRBPF_PERFDATA_COMPRESSOR_H

#include "perfdata/out_file.h"

#define COMPRESSOR_LEVEL_MAX 22 /* as perf and zstd */

struct compressor;

/* @level: 1 to COMPRESSOR_LEVEL_MAX. 0 or -ENOMEM. */
int compressor__new(unsigned int level, struct compressor **ret);

/* Append @len bytes. What was gathered goes to @out once it is a piece. 0, -ENOMEM, or a negative
 * errno of writing, with words in @err. */
int compressor__add(struct compressor *c, const void *data, size_t len, struct out_file *out,
		    struct err *err);
/* All that was gathered goes to @out. Same errors. */
int compressor__flush(struct compressor *c, struct out_file *out, struct err *err);

/* What the feature COMPRESSED says. */
struct compressor_facts {
	unsigned int level;
	unsigned int ratio; /* of what was added to what it became */
	size_t piece_bytes; /* the room that a reader needs for a piece */
};

void compressor__facts(const struct compressor *c, struct compressor_facts *ret);

void compressor__free(struct compressor *c); /* NULL is legal */

#endif
