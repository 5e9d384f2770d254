// SPDX-License-Identifier: GPL-2.0-only
/*
 * perf reads the pieces with perf_session__process_compressed_event() in tools/perf/util/session.c.
 * A piece must not decompress to zero bytes, nor to more than the feature COMPRESSED says.
 */
#include <stdlib.h>
#include <zstd.h>

#include "perfdata/compressor.h"
#include "perfdata/record.h"

#define PIECE_BYTES  (60 << 10) /* fits into a record even if it cannot be compressed */
#define BLOCK_HEADER 3		/* bytes, of zstd; all zero: an empty block */
#define PAD_MAX	     (7 * BLOCK_HEADER)
#define ROOM	     (UINT16_MAX - sizeof(struct perf_event_header) - PAD_MAX)
/* perf fails on further blocks if its buffer is full, so claim more than a piece needs. */
#define READER_ROOM (4 * PIECE_BYTES)

struct compressor {
	ZSTD_CStream *stream;
	unsigned int level;
	size_t len; /* bytes used in piece */
	uint64_t added, written;
	char piece[PIECE_BYTES];
	struct {
		struct perf_event_header header;
		char data[ROOM + PAD_MAX];
	} record;
};

int compressor__new(unsigned int level, struct compressor **ret)
{
	struct compressor *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->level = level;
	c->stream = ZSTD_createCStream();
	if (!c->stream ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(c->stream, ZSTD_c_compressionLevel, level))) {
		compressor__free(c);
		return -ENOMEM;
	}
	*ret = c;
	return 0;
}

/* The size of a record is a multiple of 8: pad it with empty blocks. */
static size_t pad_record(char *data, size_t len)
{
	size_t padded = len;

	while (padded % 8)
		padded += BLOCK_HEADER;
	memset(data + len, 0, padded - len);
	return padded;
}

int compressor__flush(struct compressor *c, struct out_file *out, struct err *err)
{
	ZSTD_inBuffer from = { .src = c->piece, .size = c->len };
	ZSTD_outBuffer to = { .dst = c->record.data, .size = ROOM };
	size_t left;

	if (!c->len)
		return 0;
	left = ZSTD_compressStream2(c->stream, &to, &from, ZSTD_e_flush);
	if (ZSTD_isError(left))
		return err_set(err, -ENOMEM, "%s: cannot compress its records: %s", out->name,
			       ZSTD_getErrorName(left));
	if (left || from.pos < from.size)
		return err_set(err, -E2BIG, "%s: a compressed record is too large", out->name);
	c->record.header = (struct perf_event_header){
		.type = RECORD_COMPRESSED,
		.size = sizeof(c->record.header) + pad_record(c->record.data, to.pos),
	};
	c->added += c->len;
	c->written += c->record.header.size;
	c->len = 0;
	return out_file__write(out, &c->record, c->record.header.size, err);
}

int compressor__add(struct compressor *c, const void *data, size_t len, struct out_file *out,
		    struct err *err)
{
	const char *from = data;
	int code = 0;

	while (!code && len) {
		size_t part = len < PIECE_BYTES - c->len ? len : PIECE_BYTES - c->len;

		memcpy(c->piece + c->len, from, part);
		c->len += part;
		from += part;
		len -= part;
		if (c->len == PIECE_BYTES)
			code = compressor__flush(c, out, err);
	}
	return code;
}

void compressor__facts(const struct compressor *c, struct compressor_facts *ret)
{
	*ret = (struct compressor_facts){
		.level = c->level,
		.ratio = c->written ? (c->added + c->written / 2) / c->written : 1,
		.piece_bytes = READER_ROOM,
	};
}

void compressor__free(struct compressor *c)
{
	if (!c)
		return;
	ZSTD_freeCStream(c->stream);
	free(c);
}
