// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/new_file.h"
#include "perfdata/compressor.h"
#include "perfdata/features.h"
#include "perfdata/file_attr.h"
#include "perfdata/file_layout.h"
#include "perfdata/out_file.h"
#include "perfdata/record.h"
#include "perfdata/writer.h"

/* A set of event ids: filled once, then used for every record. { 0 } is an empty one. */
struct id_set {
	uint64_t *slots;    /* open addressing, 0: free; owned */
	unsigned int shift; /* 64 - log2 of the number of slots */
};

static size_t id_set_slot(const struct id_set *s, uint64_t id)
{
	return (id * 0x9e3779b97f4a7c15ULL) >>
	       s->shift; /* Fibonacci hashing: ids are consecutive */
}

static bool id_set_has(const struct id_set *s, uint64_t id)
{
	size_t mask = UINT64_MAX >> s->shift, i;

	for (i = id_set_slot(s, id); s->slots[i]; i = (i + 1) & mask)
		if (s->slots[i] == id)
			return true;
	return false;
}

/* Room for @n ids. 0 or -ENOMEM. */
static int id_set_init(struct id_set *s, size_t n)
{
	unsigned int bits = 4;

	/* at most half full: a search is short, and always finds a free slot */
	while (bits < 32 && (1ULL << bits) / 2 < n)
		bits++;
	if ((1ULL << bits) / 2 < n)
		return -ENOMEM;
	s->slots = calloc(1ULL << bits, sizeof(*s->slots));
	if (!s->slots)
		return -ENOMEM;
	s->shift = 64 - bits;
	return 0;
}

/*
 * Add an id. Call it at most @n times, where @n was passed to id_set_init(). 0; -EEXIST: it is in
 * the set; -EINVAL: it is 0, which no event has.
 */
static int id_set_add(struct id_set *s, uint64_t id)
{
	size_t mask = UINT64_MAX >> s->shift, i;

	if (!id)
		return -EINVAL;
	for (i = id_set_slot(s, id); s->slots[i]; i = (i + 1) & mask)
		if (s->slots[i] == id)
			return -EEXIST;
	s->slots[i] = id;
	return 0;
}

static void id_set_free(struct id_set *s)
{
	free(s->slots);
	*s = (struct id_set){ 0 };
}

/*
 *	RECORDS --finish--> FINISHED --publish--> PUBLISHED
 *	   \____________________\____ any error ____> BROKEN
 *
 * In every state but PUBLISHED, free removes the file, unless readers have it already.
 */
enum writer_state { WRITER_RECORDS, WRITER_FINISHED, WRITER_PUBLISHED, WRITER_BROKEN };

/*
 * A file that readers use while it is written. The bodies of its features stand before the
 * records, so that a checkpoint writes only their table and the header.
 */
struct open_file {
	bool is_open;
	struct file_range table[HEADER_BITS];
	int n;
	uint64_t features[4]; /* their bits */
	uint64_t end;	      /* of the records at the last checkpoint, where the table stands */
};

struct perfdata_writer {
	enum writer_state state;
	int dirfd; /* our own duplicate */
	char *tmp_name;
	struct out_file out;
	struct compressor *compressor; /* owned; NULL: records are not compressed */
	struct file_attrs attrs;
	struct id_set ids;
	struct file_header header; /* written last, so that incomplete files have no magic */
	struct open_file open;
};

/* After any failure except a refused record, the state of the file is unknown. */
static int writer_broken(struct perfdata_writer *w, int code)
{
	w->state = WRITER_BROKEN;
	return code;
}

static int check_state(const struct perfdata_writer *w, enum writer_state want, struct err *err)
{
	if (w->state == want)
		return 0;
	return err_set(err, -EINVAL, "%s: bug: the writer is in the wrong state for this call",
		       w->tmp_name);
}

static int collect_ids(struct perfdata_writer *w, struct err *err)
{
	size_t i, j, n = 0;

	for (i = 0; i < w->attrs.n; i++)
		n += w->attrs.v[i].n_ids;
	if (id_set_init(&w->ids, n))
		return err_set(err, -ENOMEM, "out of memory for %zu event ids", n);
	for (i = 0; i < w->attrs.n; i++) {
		const struct perfdata_attr *a = &w->attrs.v[i];

		for (j = 0; j < a->n_ids; j++)
			if (id_set_add(&w->ids, a->ids[j]))
				return err_set(err, -EINVAL,
					       "%s: id %" PRIu64 " is 0 or another event's",
					       a->name, a->ids[j]);
	}
	return 0;
}

/* Write space for the header, then all ids, then the attrs, which point to their ids. */
static int write_front(struct perfdata_writer *w, struct err *err)
{
	static const struct file_header room;
	struct file_attr_entry e;
	uint64_t ids_at = sizeof(room);
	size_t i;
	int code = out_file__write(&w->out, &room, sizeof(room), err);

	for (i = 0; !code && i < w->attrs.n; i++) {
		const struct perfdata_attr *a = &w->attrs.v[i];

		code = out_file__write(&w->out, a->ids, a->n_ids * sizeof(*a->ids), err);
	}
	w->header.attrs.offset = out_file__size(&w->out);
	w->header.attrs.size = w->attrs.n * sizeof(e);
	w->header.data.offset = w->header.attrs.offset + w->header.attrs.size;
	for (i = 0; !code && i < w->attrs.n; i++) {
		const struct perfdata_attr *a = &w->attrs.v[i];

		memcpy(e.attr, a->attr, sizeof(e.attr));
		e.ids = (struct file_range){ ids_at, a->n_ids * sizeof(*a->ids) };
		ids_at += e.ids.size;
		code = out_file__write(&w->out, &e, sizeof(e), err);
	}
	return code;
}

/* Make a writer that has no file yet. */
static int make_writer(const char *name, const struct perfdata_attr *attrs, size_t n_attrs,
		       struct err *err, struct perfdata_writer **ret)
{
	struct perfdata_writer *w = calloc(1, sizeof(*w));
	int code;

	if (!w)
		return err_set(err, -ENOMEM, "%s: out of memory", name);
	w->state = WRITER_BROKEN; /* until it is complete */
	w->out.fd = w->dirfd = -1;
	w->tmp_name = strdup(name);
	code = w->tmp_name ? 0 : err_set(err, -ENOMEM, "%s: out of memory", name);
	code = code ?: file_attrs__init(&w->attrs, attrs, n_attrs, err);
	code = code ?: collect_ids(w, err);
	if (code)
		perfdata__free(w);
	else
		*ret = w;
	return code;
}

/* Write the front of the file. @code: the result of opening it. Frees @w on failure. */
static int begin_writer(struct perfdata_writer *w, int code, struct err *err,
			struct perfdata_writer **ret)
{
	code = code ?: write_front(w, err);
	if (code) {
		perfdata__free(w);
		return code;
	}
	w->state = WRITER_RECORDS;
	*ret = w;
	return 0;
}

int perfdata__create(int dirfd, const char *tmp_name, const struct perfdata_attr *attrs,
		     size_t n_attrs, struct err *err, struct perfdata_writer **ret)
{
	struct perfdata_writer *w;
	int code = make_writer(tmp_name, attrs, n_attrs, err, &w);

	if (code)
		return code;
	w->dirfd = fcntl(dirfd, F_DUPFD_CLOEXEC, 3);
	if (w->dirfd < 0)
		code = err_set(err, -errno, "%s: cannot create: %s", tmp_name, strerror(errno));
	code = code ?: out_file__create(w->dirfd, w->tmp_name, err, &w->out);
	return begin_writer(w, code, err, ret);
}

int perfdata__write_to(int fd, const char *name, const struct perfdata_attr *attrs, size_t n_attrs,
		       struct err *err, struct perfdata_writer **ret)
{
	struct perfdata_writer *w;
	int code = make_writer(name, attrs, n_attrs, err, &w);

	if (code)
		return code;
	code = out_file__use(fd, w->tmp_name, err, &w->out);
	return begin_writer(w, code, err, ret);
}

static int refuse_record(const struct perfdata_writer *w, const struct perf_event_header *rec,
			 struct err *err)
{
	if (!record__valid(rec, UINT16_MAX))
		return err_set(err, -EINVAL, "%s: record of type %u and size %u is malformed",
			       w->tmp_name, rec->type, rec->size);
	return err_set(err, -EINVAL, "%s: record of type %u has id %" PRIu64 ", which no event has",
		       w->tmp_name, rec->type, record__id(rec));
}

int perfdata__compress(struct perfdata_writer *w, unsigned int level, struct err *err)
{
	if (w->state != WRITER_RECORDS || w->compressor || !level || level > COMPRESSOR_LEVEL_MAX)
		return err_set(err, -EINVAL, "%s: cannot compress at level %u", w->tmp_name, level);
	if (compressor__new(level, &w->compressor))
		return err_set(err, -ENOMEM, "%s: out of memory to compress it", w->tmp_name);
	return 0;
}

/* Bytes that one record may take in the buffer, compressed or not. */
#define OPEN_FILE_SPARE (2 * (UINT16_MAX + 1))

static int append_record(struct perfdata_writer *w, const struct perf_event_header *rec,
			 struct err *err)
{
	int code = 0;

	if (w->open.is_open && w->out.len + OPEN_FILE_SPARE > OUT_FILE_BUFFER)
		code = perfdata__checkpoint(w, err);
	if (code)
		return code;
	code = w->compressor ? compressor__add(w->compressor, rec, rec->size, &w->out, err)
			     : out_file__write(&w->out, rec, rec->size, err);

	return code ? writer_broken(w, code) : 0;
}

int perfdata__write(struct perfdata_writer *w, const struct perf_event_header *rec, struct err *err)
{
	uint64_t id;

	if (w->state != WRITER_RECORDS)
		return check_state(w, WRITER_RECORDS, err);
	if (!record__valid(rec, UINT16_MAX))
		return refuse_record(w, rec, err);
	id = record__id(rec);
	if (!id_set_has(&w->ids, id) && (id || rec->type == PERF_RECORD_SAMPLE))
		return refuse_record(w, rec, err);
	return append_record(w, rec, err);
}

int perfdata__end_round(struct perfdata_writer *w, struct err *err)
{
	const struct perf_event_header round = { .type = RECORD_FINISHED_ROUND,
						 .size = sizeof(round) };
	int code = check_state(w, WRITER_RECORDS, err);

	return code ?: append_record(w, &round, err);
}

/* Append all sections to @bodies; table[] gets their places, w->header their bits. Returns their
 * number, or negative errno. */
static int encode_features(struct perfdata_writer *w, const struct perfdata_features *f,
			   struct buf *bodies, struct file_range table[HEADER_BITS],
			   struct err *err)
{
	unsigned int bit;
	int n = 0, code;

	for (bit = 1; bit < HEADER_BITS; bit++) {
		size_t start = bodies->len;

		code = features__encode(bit, f, w->attrs.v, w->attrs.n, bodies);
		if (code == -ENOENT)
			continue;
		if (code)
			return err_set(err, code, "%s: cannot encode feature %u: %s", w->tmp_name,
				       bit, strerror(-code));
		table[n++] = (struct file_range){ start, bodies->len - start };
		w->header.features[bit / 64] |= 1ULL << (bit % 64);
	}
	return n;
}

static int write_feature_sections(struct perfdata_writer *w, const struct perfdata_features *f,
				  struct err *err)
{
	struct file_range table[HEADER_BITS];
	struct buf bodies = { 0 };
	uint64_t bodies_at;
	int i, n, code;

	n = encode_features(w, f, &bodies, table, err);
	if (n < 0) {
		buf__free(&bodies);
		return n;
	}
	bodies_at = out_file__size(&w->out) + n * sizeof(*table);
	for (i = 0; i < n; i++)
		table[i].offset += bodies_at;
	code = out_file__write(&w->out, table, n * sizeof(*table), err);
	code = code ?: out_file__write(&w->out, bodies.data, bodies.len, err);
	buf__free(&bodies);
	return code;
}

/* Set everything in the header that does not depend on records and features. */
static void init_header(struct perfdata_writer *w)
{
	memcpy(w->header.magic, FILE_MAGIC, sizeof(w->header.magic));
	w->header.size = sizeof(w->header);
	w->header.attr_size = sizeof(struct file_attr_entry);
}

static int write_header(struct perfdata_writer *w, struct err *err)
{
	return out_file__write_at(&w->out, 0, &w->header, sizeof(w->header), err);
}

int perfdata__open(struct perfdata_writer *w, const struct perfdata_features *f, struct err *err)
{
	static const char padding[8];
	struct perfdata_features features = *f;
	struct compressor_facts compressed;
	struct buf bodies = { 0 };
	uint64_t at = out_file__size(&w->out);
	int code = check_state(w, WRITER_RECORDS, err);

	if (code)
		return code;
	if (!f->host || at != w->header.data.offset)
		return err_set(err, -EINVAL, "%s: too late to open it", w->tmp_name);
	if (w->compressor) {
		compressor__facts(w->compressor, &compressed);
		features.compressed = &compressed;
	}
	code = w->open.n = encode_features(w, &features, &bodies, w->open.table, err);
	for (int i = 0; i < w->open.n; i++)
		w->open.table[i].offset += at;
	if (code >= 0)
		code = out_file__write(&w->out, bodies.data, bodies.len, err);
	code = code ?: out_file__write(&w->out, padding, -bodies.len & 7, err);
	buf__free(&bodies);
	if (code < 0)
		return writer_broken(w, code);
	memcpy(w->open.features, w->header.features, sizeof(w->open.features));
	init_header(w);
	w->header.data.offset = out_file__size(&w->out);
	w->open.is_open = true;
	return perfdata__checkpoint(w, err);
}

/*
 * Say that the file has no features, before their table is overwritten by records: if we are killed
 * at that moment, perf reads the file without names of events and the like.
 */
static int hide_table(struct perfdata_writer *w, struct err *err)
{
	if (!w->open.end)
		return 0;
	memset(w->header.features, 0, sizeof(w->header.features));
	w->header.data.size = w->open.end - w->header.data.offset;
	return write_header(w, err);
}

int perfdata__checkpoint(struct perfdata_writer *w, struct err *err)
{
	size_t table = w->open.n * sizeof(w->open.table[0]);
	uint64_t end;
	int code = check_state(w, WRITER_RECORDS, err);

	if (!code && w->compressor)
		code = compressor__flush(w->compressor, &w->out, err);
	end = out_file__size(&w->out);
	if (code || end == w->open.end)
		return code ? writer_broken(w, code) : 0;
	code = hide_table(w, err);
	code = code ?: out_file__flush(&w->out, err);
	code = code ?: out_file__write_at(&w->out, end, w->open.table, table, err);
	memcpy(w->header.features, w->open.features, sizeof(w->header.features));
	w->header.data.size = end - w->header.data.offset;
	code = code ?: write_header(w, err);
	w->open.end = end;
	return code ? writer_broken(w, code) : 0;
}

uint64_t perfdata__size(const struct perfdata_writer *w)
{
	return out_file__size(&w->out);
}

int perfdata__finish(struct perfdata_writer *w, const struct perfdata_features *f, struct err *err)
{
	struct perfdata_features features = *f;
	struct compressor_facts compressed;
	int code = check_state(w, WRITER_RECORDS, err);

	if (code)
		return code;
	if (!f->host) /* readers crash without the machine's name, release and CPUs */
		return err_set(err, -EINVAL, "%s: the description of the host is missing",
			       w->tmp_name);
	if (w->compressor) {
		code = compressor__flush(w->compressor, &w->out, err);
		if (code)
			return writer_broken(w, code);
		compressor__facts(w->compressor, &compressed);
		features.compressed = &compressed;
	}
	code = hide_table(w, err);
	if (code)
		return writer_broken(w, code);
	init_header(w);
	w->header.data.size = out_file__size(&w->out) - w->header.data.offset;
	code = write_feature_sections(w, &features, err);
	code = code ?: out_file__flush(&w->out, err);
	code = code ?: write_header(w, err);
	code = code ?: out_file__sync(&w->out, err);
	if (code)
		return writer_broken(w, code);
	w->state = WRITER_FINISHED;
	return 0;
}

int perfdata__publish(struct perfdata_writer *w, const char *name, uint64_t *ret_size,
		      struct err *err)
{
	int code = check_state(w, WRITER_FINISHED, err);

	if (code)
		return code;
	code = new_file__rename(w->dirfd, w->tmp_name, name, false);
	if (code)
		return err_set(err, code, "%s: cannot give the file this name: %s", name,
			       strerror(-code));
	w->state = WRITER_PUBLISHED;
	if (fsync(w->dirfd)) {
		code = -errno;
		return err_set(err, code, "%s: cannot write its directory to disk: %s", name,
			       strerror(-code));
	}
	*ret_size = out_file__size(&w->out);
	return 0;
}

void perfdata__free(struct perfdata_writer *w)
{
	if (!w)
		return;
	if (w->out.fd >= 0 && w->dirfd >= 0 && w->state != WRITER_PUBLISHED && !w->open.is_open)
		unlinkat(w->dirfd, w->tmp_name, 0);
	out_file__close(&w->out);
	compressor__free(w->compressor);
	if (w->dirfd >= 0)
		close(w->dirfd);
	file_attrs__free(&w->attrs);
	id_set_free(&w->ids);
	free(w->tmp_name);
	free(w);
}
