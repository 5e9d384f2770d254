// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decompresses records, as tools/perf/util/session.c: perf_session__process_compressed_event. A
 * record of type COMPRESSED or COMPRESSED2 has a piece of one zstd stream. It decompresses to
 * records, of which the last may continue in the next piece.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "common/buf.h"
#include "common/opening.h"
#include "common/write_all.h"
#include "perfdata/perf_file_impl.h"

#define TYPE_COMPRESSED2 83 /* {u64 size}, piece, padding */

/* No real recording compresses that well: a higher ratio is an attempt to fill the disk. */
#define RATIO_MAX   256
#define ALWAYS_ROOM (64 << 20) /* bytes */

struct inflater {
	struct perf_file *f;
	ZSTD_DStream *stream;
	struct buf out; /* not written yet; starts at a record */
	int fd;
	uint64_t size; /* bytes written */
	uint64_t read; /* bytes of records read so far */
};

static int inflater_write(struct inflater *in, const void *data, size_t len, struct err *err)
{
	int code;

	if (in->size + len > in->read * RATIO_MAX + ALWAYS_ROOM)
		return err_set(err, -EINVAL,
			       "%s: damaged: its compressed records grow more than %d times",
			       in->f->path, RATIO_MAX);
	in->size += len;
	code = write_all(in->fd, data, len);
	if (code)
		return err_set(err, code, "%s: cannot unpack its records into a temporary file: %s",
			       in->f->path, strerror(-code));
	return 0;
}

/* Write the complete records of in->out; keep the rest. */
static int write_whole(struct inflater *in, struct err *err)
{
	struct perf_event_header h;
	size_t end = 0;
	int code;

	while (in->out.len - end >= sizeof(h)) {
		memcpy(&h, in->out.data + end, sizeof(h));
		if (h.size < sizeof(h))
			return err_set(err, -EINVAL,
				       "%s: damaged: a compressed record claims a size of %u",
				       in->f->path, h.size);
		if (h.size > in->out.len - end)
			break;
		end += h.size;
	}
	code = end ? inflater_write(in, in->out.data, end, err) : 0;
	if (end) {
		memmove(in->out.data, in->out.data + end, in->out.len - end);
		in->out.len -= end;
	}
	return code;
}

static int inflate_piece(struct inflater *in, const void *data, size_t len, struct err *err)
{
	ZSTD_inBuffer from = { .src = data, .size = len };
	char chunk[65536];
	int code;

	for (;;) {
		ZSTD_outBuffer to = { .dst = chunk, .size = sizeof(chunk) };
		size_t left = ZSTD_decompressStream(in->stream, &to, &from);

		if (ZSTD_isError(left))
			return err_set(err, -EINVAL, "%s: its compressed records are damaged: %s",
				       in->f->path, ZSTD_getErrorName(left));
		if (buf__add(&in->out, chunk, to.pos))
			return err_set(err, -ENOMEM, "%s: out of memory", in->f->path);
		code = write_whole(in, err);
		if (code || (from.pos == from.size && to.pos < to.size))
			return code;
	}
}

static int inflate_record(struct inflater *in, const char *raw, size_t size, struct err *err)
{
	const struct perf_event_header *h = (const void *)raw;
	size_t at = sizeof(*h);
	uint64_t len = size - at;

	if (h->type == TYPE_COMPRESSED2) {
		if (len < sizeof(uint64_t))
			len = UINT64_MAX;
		else
			memcpy(&len, raw + at, sizeof(len));
		at += sizeof(uint64_t);
		if (at > size || len > size - at)
			return err_set(err, -EINVAL,
				       "%s: damaged: a compressed record is shorter than it says",
				       in->f->path);
	}
	return inflate_piece(in, raw + at, len, err);
}

static int inflate_all(struct inflater *in, struct err *err)
{
	uint64_t off = in->f->data.offset, end = off + in->f->data.size;
	char *raw = in->f->raw;
	struct perf_event_header h;
	int code = 0;

	while (off < end && !code) {
		code = end - off < sizeof(h) ? -EINVAL : 0;
		code = code ?: block_file__read(in->f->file, off, &h, sizeof(h), err);
		if (!code && (h.size < sizeof(h) || h.size > end - off))
			code = -EINVAL;
		if (code)
			return err->msg[0] ? code
					   : err_set(err, code,
						     "%s: damaged at offset %" PRIu64
						     ": no record can begin here",
						     in->f->path, off);
		code = block_file__read(in->f->file, off, raw, h.size, err);
		if (code)
			break;
		in->read += h.size;
		if (h.type == RECORD_COMPRESSED || h.type == TYPE_COMPRESSED2)
			code = inflate_record(in, raw, h.size, err);
		else
			code = inflater_write(in, raw, h.size, err);
		off += h.size;
	}
	if (!code && in->out.len)
		code = err_set(err, -EINVAL, "%s: its last compressed record is truncated",
			       in->f->path);
	return code;
}

int file_inflate(struct perf_file *f, struct err *err)
{
	struct inflater in = { .f = f, .fd = -1 };
	int code;

	in.stream = ZSTD_createDStream();
	if (!in.stream)
		return err_set(err, -ENOMEM, "%s: out of memory", f->path);
	in.fd = opening__temporary();
	code = in.fd >= 0
		       ? inflate_all(&in, err)
		       : err_set(err, in.fd, "%s: no temporary file for its compressed records: %s",
				 f->path, strerror(-in.fd));
	if (!code)
		code = block_file__from_fd(in.fd, f->path, err, &f->records);
	else if (in.fd >= 0)
		close(in.fd);
	if (!code)
		f->data = (struct file_range){ .offset = 0, .size = in.size };
	ZSTD_freeDStream(in.stream);
	buf__free(&in.out);
	return code;
}
