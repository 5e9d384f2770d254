// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "common/array.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "common/opening.h"
#include "perfdata/perf_file_impl.h"

/* perf's own records (tools/lib/perf/include/perf/event.h) that a reader cannot skip by size. */
enum {
	USER_TYPE_START = 64,
	TYPE_HEADER_TRACING_DATA = 66,
	TYPE_AUXTRACE = 71,    /* its payload follows it */
	TYPE_COMPRESSED2 = 83, /* {u64 size}, piece, padding */
};

static const char *const type_names[] = {
	[PERF_RECORD_MMAP] = "MMAP",	       [PERF_RECORD_LOST] = "LOST",
	[PERF_RECORD_COMM] = "COMM",	       [PERF_RECORD_EXIT] = "EXIT",
	[PERF_RECORD_THROTTLE] = "THROTTLE",   [PERF_RECORD_UNTHROTTLE] = "UNTHROTTLE",
	[PERF_RECORD_FORK] = "FORK",	       [PERF_RECORD_READ] = "READ",
	[PERF_RECORD_SAMPLE] = "SAMPLE",       [PERF_RECORD_MMAP2] = "MMAP2",
	[PERF_RECORD_KSYMBOL] = "KSYMBOL",     [PERF_RECORD_NAMESPACES] = "NAMESPACES",
	[PERF_RECORD_BPF_EVENT] = "BPF_EVENT", [PERF_RECORD_CGROUP] = "CGROUP",
};

int perf_file__bad_record(const struct perf_file *f, const struct file_record *rec, const char *why,
			  struct err *err)
{
	const char *name = rec->h->type < ARRAY_SIZE(type_names) ? type_names[rec->h->type] : NULL;

	return err_set(err, -EINVAL,
		       "%s: damaged at offset %" PRIu64 ", in a record of type %u%s%s%s and %u "
		       "bytes: %s",
		       f->path, rec->offset, rec->h->type, name ? " (" : "", name ?: "",
		       name ? ")" : "", rec->h->size, why);
}

/* Bytes of the trailer of a record other than a sample. Files of perf may differ from record.h. */
static size_t trailer_size(const struct perf_event_attr *a)
{
	const uint64_t fields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
				PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;

	return a->sample_id_all ? 8 * __builtin_popcountll(a->sample_type & fields) : 0;
}

static uint64_t read_word(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Get the id of a record; 0: the file has one attr, or the record has no id. False: too short. */
static bool record_id(const struct perf_file *f, const struct perf_event_header *h, uint64_t *ret)
{
	const struct perf_event_attr *a = &f->events[0].attr;
	uint64_t t = a->sample_type, after;
	size_t at;

	*ret = 0;
	if (f->info.n_events == 1)
		return true;
	if (h->type == PERF_RECORD_SAMPLE) {
		at = sizeof(*h);
		if (!(t & PERF_SAMPLE_IDENTIFIER))
			at += 8 * __builtin_popcountll(t & (PERF_SAMPLE_IP | PERF_SAMPLE_TID |
							    PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR));
		if (at + 8 > h->size)
			return false;
		*ret = read_word((const char *)h + at);
		return true;
	}
	if (!a->sample_id_all)
		return true;
	after = t & PERF_SAMPLE_IDENTIFIER
			? 0
			: __builtin_popcountll(t & (PERF_SAMPLE_CPU | PERF_SAMPLE_STREAM_ID));
	at = 8 * (after + 1);
	if (sizeof(*h) + at > h->size)
		return false;
	*ret = read_word((const char *)h + h->size - at);
	return true;
}

/* Convert the trailer at @p to that of record.h. */
static struct record_trailer read_trailer(const struct perf_event_attr *a, const char *p)
{
	struct record_trailer t = { 0 };

	if (!a->sample_id_all)
		return t;
	if (a->sample_type & PERF_SAMPLE_TID) {
		memcpy(&t.pid, p, sizeof(t.pid));
		memcpy(&t.tid, p + 4, sizeof(t.tid));
		p += 8;
	}
	if (a->sample_type & PERF_SAMPLE_TIME) {
		t.time = read_word(p);
		p += 8;
	}
	if (a->sample_type & PERF_SAMPLE_ID)
		p += 8;
	if (a->sample_type & PERF_SAMPLE_STREAM_ID)
		p += 8;
	if (a->sample_type & PERF_SAMPLE_CPU)
		memcpy(&t.cpu, p, sizeof(t.cpu));
	return t;
}

/* Give a record of the kernel, other than a sample, the trailer of record.h. */
static int normalise_record(struct perf_file *f, struct file_record *rec, struct err *err)
{
	struct perf_event_header *h = (void *)f->normal;
	size_t trailer = trailer_size(&rec->event->attr), body;
	struct record_trailer t;

	if (rec->h->size < sizeof(*h) + trailer)
		return perf_file__bad_record(f, rec, "it is too short", err);
	body = (rec->h->size - trailer + 7) & ~(size_t)7;
	if (body + sizeof(t) > (UINT16_MAX & ~7))
		return perf_file__bad_record(f, rec, "it is too long", err);
	memset(f->normal + body - 8, 0, 8);
	memcpy(f->normal, f->raw, rec->h->size - trailer);
	t = read_trailer(&rec->event->attr, f->raw + rec->h->size - trailer);
	memcpy(f->normal + body, &t, sizeof(t));
	h->size = body + sizeof(t);
	if (!record__valid(h, h->size))
		return perf_file__bad_record(
			f, rec, "its contents need more bytes than its size says", err);
	rec->h = h;
	return 0;
}

/* Does frbpf know the type? Types of newer kernels have nothing that we need. */
static bool record_type_is_known(uint32_t type)
{
	return type <= PERF_RECORD_AUX_OUTPUT_HW_ID && type;
}

static int read_user_record(struct perf_file *f, const struct file_record *rec, uint64_t *next,
			    struct err *err)
{
	uint64_t end = f->data.offset + f->data.size, payload;

	switch (rec->h->type) {
	case RECORD_COMPRESSED:
	case TYPE_COMPRESSED2:
		return perf_file__bad_record(
			f, rec, "it is compressed, but the header announces no compression", err);
	case TYPE_HEADER_TRACING_DATA:
		return perf_file__bad_record(f, rec, "it is only valid in pipe mode", err);
	case TYPE_AUXTRACE:
		if (rec->h->size < 16)
			return perf_file__bad_record(f, rec, "it is too short", err);
		payload = read_word((const char *)rec->h + 8);
		if (payload > end - *next)
			return perf_file__bad_record(f, rec, "its data reach past the records' end",
						     err);
		*next += payload;
		return 0;
	default:
		return 0;
	}
}

/* Read the record at @offset into f->raw, and find its event. *ret_next: offset of the next one. */
static int read_file_record(struct perf_file *f, uint64_t offset, struct err *err,
			    struct file_record *rec, uint64_t *ret_next)
{
	uint64_t end = f->data.offset + f->data.size, id, next;
	struct perf_event_header *h = (void *)f->raw;
	int code;

	*rec = (struct file_record){ .offset = offset, .h = h };
	if (end - offset < sizeof(*h))
		return err_set(err, -EINVAL,
			       "%s: damaged at offset %" PRIu64 ": %" PRIu64
			       " bytes are left where a record should begin",
			       f->path, offset, end - offset);
	code = block_file__read(f->records, offset, h, sizeof(*h), err);
	if (code)
		return code;
	if (h->size < sizeof(*h))
		return perf_file__bad_record(f, rec, "no record is that small", err);
	if (h->size > end - offset)
		return perf_file__bad_record(f, rec, "it reaches past the records' end", err);
	next = offset + h->size;
	code = block_file__read(f->records, offset, h, h->size, err);
	if (code)
		return code;
	if (h->type >= USER_TYPE_START) {
		code = read_user_record(f, rec, &next, err);
	} else if (record_type_is_known(h->type)) {
		if (!record_id(f, h, &id))
			return perf_file__bad_record(f, rec, "it is too short", err);
		rec->event = perf_file__event_of_id(f, id);
		/* perf record sometimes writes a record of an event that it does not list */
		if (!rec->event && h->type != PERF_RECORD_SAMPLE)
			rec->event = &f->events[0];
		if (!rec->event)
			return perf_file__bad_record(f, rec, "its id is not that of any event",
						     err);
	}
	*ret_next = next;
	return code;
}

/* Get the time by which a record is sorted; 0: it comes first. False: too short. */
static bool record_time(const struct file_record *rec, uint64_t *ret)
{
	uint64_t t = rec->event->attr.sample_type, time = 0;
	size_t at = sizeof(*rec->h);

	if (rec->h->type == PERF_RECORD_SAMPLE && t & PERF_SAMPLE_TIME) {
		at += 8 * __builtin_popcountll(
				  t & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID));
		if (at + 8 > rec->h->size)
			return false;
		time = read_word((const char *)rec->h + at);
	} else if (rec->h->type != PERF_RECORD_SAMPLE) {
		time = record__time(rec->h);
	}
	*ret = time == UINT64_MAX ? 0 : time; /* as in perf: ordered_events__queue */
	return true;
}

static int add_index_entry(struct perf_file *f, uint64_t time, uint64_t offset, struct err *err)
{
	if (!ARRAY_HAS_ROOM(f->index, f->n_index, f->cap_index, 4096))
		return err_set(err, -ENOMEM, "%s: out of memory for more than %zu records", f->path,
			       f->n_index);
	f->index[f->n_index++] = (struct file_entry){ time, offset };
	return 0;
}

static int compare_record_times(const void *a, const void *b)
{
	const struct file_entry *x = a, *y = b;

	return (x->time > y->time) - (x->time < y->time)
		       ?: (x->offset > y->offset) - (x->offset < y->offset);
}

/* Check every record, and index it by time. */
static int make_index(struct perf_file *f, struct err *err)
{
	uint64_t end = f->data.offset + f->data.size, offset, next, time, last = 0;
	bool sorted = true;

	block_file__read_one_way(f->records, true);
	for (offset = f->data.offset; offset < end; offset = next) {
		struct file_record rec;
		int code = read_file_record(f, offset, err, &rec, &next);

		if (code)
			return code;
		if (!rec.event)
			continue;
		if (rec.h->type != PERF_RECORD_SAMPLE) {
			code = normalise_record(f, &rec, err);
			if (code)
				return code;
		}
		if (!record_time(&rec, &time))
			return perf_file__bad_record(f, &rec, "it is too short", err);
		code = add_index_entry(f, time, offset, err);
		if (code)
			return code;
		sorted &= time >= last;
		last = time;
	}
	if (!sorted) {
		block_file__read_one_way(f->records, false);
		qsort(f->index, f->n_index, sizeof(*f->index), compare_record_times);
	}
	return 0;
}

static int need_index(struct perf_file *f, struct err *err)
{
	int code = f->index ? 0 : make_index(f, err);

	if (code) /* do not use an incomplete index */
		f->n_index = 0;
	return code;
}

int perf_file__span(struct perf_file *f, struct err *err, uint64_t *ret_first, uint64_t *ret_last)
{
	int code = need_index(f, err);
	size_t i = 0;

	*ret_first = *ret_last = 0;
	if (code)
		return code;
	while (i < f->n_index && !f->index[i].time)
		i++;
	if (i < f->n_index) {
		*ret_first = f->index[i].time;
		*ret_last = f->index[f->n_index - 1].time;
	}
	return 0;
}

int perf_file__next(struct perf_file *f, struct err *err, struct file_record *ret)
{
	struct file_record rec;
	uint64_t next;
	int code = need_index(f, err);

	if (code)
		return code;
	if (f->at == f->n_index)
		return 0;
	code = read_file_record(f, f->index[f->at].offset, err, &rec, &next);
	if (!code && !rec.event)
		code = perf_file__bad_record(f, &rec, "it was changed while it was read", err);
	if (!code && rec.h->type != PERF_RECORD_SAMPLE)
		code = normalise_record(f, &rec, err);
	if (code)
		return code;
	f->at++;
	*ret = rec;
	return 1;
}

/* ---- compressed records ---- */

/*
 * Decompresses records, as tools/perf/util/session.c: perf_session__process_compressed_event. A
 * record of type COMPRESSED or COMPRESSED2 has a piece of one zstd stream. It decompresses to
 * records, of which the last may continue in the next piece.
 */

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
static int write_whole_records(struct inflater *in, struct err *err)
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
		code = write_whole_records(in, err);
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
