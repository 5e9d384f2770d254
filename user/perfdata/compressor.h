/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Compresses the records of a file like `perf record -z`: each record of type COMPRESSED has a
 * piece of one zstd stream. Life: new, add, flush, free.
 */
#ifndef FRBPF_PERFDATA_COMPRESSOR_H
#define FRBPF_PERFDATA_COMPRESSOR_H

#include "perfdata/out_file.h"

#define COMPRESSOR_LEVEL_MAX 22 /* as perf and zstd */

struct compressor;

/* @level: 1 to COMPRESSOR_LEVEL_MAX. 0 or -ENOMEM. */
int compressor__new(unsigned int level, struct compressor **ret);

/* Append @len bytes. Full pieces are written to @out. 0; -ENOMEM; -E2BIG; or the errno of the
 * write. A message is in @err. */
int compressor__add(struct compressor *c, const void *data, size_t len, struct out_file *out,
		    struct err *err);
/* Write all buffered data to @out. Same errors. */
int compressor__flush(struct compressor *c, struct out_file *out, struct err *err);

/* The contents of the feature COMPRESSED. */
struct compressor_facts {
	unsigned int level;
	unsigned int ratio; /* of bytes added to bytes written */
	size_t piece_bytes; /* buffer that a reader needs for a piece */
};

void compressor__facts(const struct compressor *c, struct compressor_facts *ret);

void compressor__free(struct compressor *c); /* NULL is legal */

#endif
