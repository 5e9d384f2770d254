// SPDX-License-Identifier: GPL-2.0-only
/* Layout: tools/perf/util/header.c: perf_session__do_write_header. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/lower_bound.h"
#include "perfdata/perf_file_impl.h"

#define HEADER_SIZE	 104 /* of file mode */
#define PIPE_HEADER_SIZE 16
#define ATTR_SIZE_VER0	 64
#define ATTR_SIZE_MAX	 4096 /* PAGE_SIZE: the kernel's limit */
#define EVENTS_MAX	 16384

_Static_assert(sizeof(struct file_header) == HEADER_SIZE, "header layout");

static int bad_header(const struct perf_file *f, uint64_t off, const char *why, struct err *err)
{
	return err_set(err, -EINVAL, "%s: the header is damaged at offset %" PRIu64 ": %s", f->path,
		       off, why);
}

static bool in_file(const struct perf_file *f, const struct file_range *r)
{
	uint64_t size = block_file__size(f->file);

	return r->offset <= size && r->size <= size - r->offset;
}

static int check_magic(const struct perf_file *f, const struct file_header *h, struct err *err)
{
	if (!memcmp(h->magic, "2ELIFREP", 8))
		return err_set(err, -EINVAL,
			       "%s: recorded on a machine of the other byte order: read it there",
			       f->path);
	if (!memcmp(h->magic, "PERFFILE", 8))
		return err_set(err, -EINVAL, "%s: in the format that perf had before 2010",
			       f->path);
	if (memcmp(h->magic, "PERFILE2", 8))
		return err_set(err, -EINVAL, "%s: not a perf.data file", f->path);
	if (h->size == PIPE_HEADER_SIZE)
		return err_set(err, -EINVAL,
			       "%s: in pipe mode, as `perf record -o -` writes it: record with -o "
			       "FILE",
			       f->path);
	return 0;
}

static int check_header(const struct perf_file *f, struct err *err)
{
	const struct file_header *h = &f->header;

	if (h->size != HEADER_SIZE)
		return bad_header(f, 8, "its size is not 104", err);
	if (h->attr_size < ATTR_SIZE_VER0 + sizeof(struct file_range) ||
	    h->attr_size > ATTR_SIZE_MAX)
		return bad_header(f, 16, "an attr cannot have that size", err);
	if (!in_file(f, &h->attrs))
		return bad_header(f, 24, "the attrs reach past the end of the file", err);
	if (!h->attrs.size || h->attrs.size % h->attr_size)
		return bad_header(f, 32, "the attrs' size is no multiple of an attr's", err);
	if (h->attrs.size / h->attr_size > EVENTS_MAX)
		return bad_header(f, 32, "more than 16384 attrs", err);
	if (!in_file(f, &h->data))
		return bad_header(f, 40,
				  "the records reach past the end of the file: it was cut, or is "
				  "being written",
				  err);
	return 0;
}

static int read_header(struct perf_file *f, struct err *err)
{
	int code;

	if (block_file__size(f->file) < PIPE_HEADER_SIZE)
		return err_set(err, -EINVAL, "%s: not a perf.data file: %" PRIu64 " bytes", f->path,
			       block_file__size(f->file));
	code = block_file__read(f->file, 0, &f->header, PIPE_HEADER_SIZE, err) ?:
	    check_magic(f, &f->header, err) ?:
	    block_file__read(f->file, 0, &f->header, sizeof(f->header), err);
	return code ?: check_header(f, err);
}

/* Read the ids of event @i, at @r in the file. */
static int read_ids(struct perf_file *f, uint32_t i, uint64_t attr_off, const struct file_range *r,
		    struct err *err)
{
	size_t n = r->size / sizeof(uint64_t), k;
	struct file_id *ids;
	int code;

	if (!in_file(f, r) || r->size % sizeof(uint64_t))
		return bad_header(f, attr_off, "the ids of this attr are not in the file", err);
	/* ids do not overlap, so their total is limited by the size of the file */
	if (n > block_file__size(f->file) / sizeof(uint64_t) - f->n_ids)
		return bad_header(f, attr_off, "the ids of this attr are those of another", err);
	if (!n)
		return 0;
	ids = reallocarray(f->ids, f->n_ids + n, sizeof(*ids));
	if (!ids)
		return err_set(err, -ENOMEM, "%s: out of memory", f->path);
	f->ids = ids;
	for (k = 0; k < n; k++) {
		code = block_file__read(f->file, r->offset + k * sizeof(uint64_t),
					&ids[f->n_ids].id, sizeof(uint64_t), err);
		if (code)
			return code;
		ids[f->n_ids++].event = i;
	}
	return 0;
}

static int read_attr(struct perf_file *f, uint32_t i, struct err *err)
{
	struct perf_event_attr *a = &f->events[i].attr;
	uint64_t off = f->header.attrs.offset + i * f->header.attr_size;
	uint64_t size = f->header.attr_size - sizeof(struct file_range);
	struct file_range ids;
	int code;

	code = block_file__read(f->file, off, a, size < sizeof(*a) ? size : sizeof(*a), err)
		       ?: block_file__read(f->file, off + size, &ids, sizeof(ids), err);
	if (code)
		return code;
	if ((a->size ? a->size : ATTR_SIZE_VER0) != size)
		return bad_header(f, off + 4, "this attr has another size than the header says",
				  err);
	return read_ids(f, i, off, &ids, err);
}

static int by_id(const void *a, const void *b)
{
	const struct file_id *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id) ?: (x->event > y->event) - (x->event < y->event);
}

const struct file_event *perf_file__event_of_id(const struct perf_file *f, uint64_t id)
{
	size_t at;

	if (f->info.n_events == 1 || !id) /* as in perf: evlist__event2evsel */
		return &f->events[0];
	at = LOWER_BOUND(i, f->n_ids, f->ids[i].id < id);
	return at < f->n_ids && f->ids[at].id == id ? &f->events[f->ids[at].event] : NULL;
}

/* Place of the id, in words: in a sample from its front, in other records from the back. -1:
 * none. */
static int id_place(uint64_t sample_type, bool from_back)
{
	const uint64_t before =
		PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;
	const uint64_t behind = PERF_SAMPLE_CPU | PERF_SAMPLE_STREAM_ID;

	if (sample_type & PERF_SAMPLE_IDENTIFIER)
		return 0;
	if (!(sample_type & PERF_SAMPLE_ID))
		return -1;
	return __builtin_popcountll(sample_type & (from_back ? behind : before));
}

/* To find the event of a record, its id must have the same place for all events. */
static int check_attrs(const struct perf_file *f, struct err *err)
{
	const struct perf_event_attr *first = &f->events[0].attr;

	for (size_t i = 0; i < f->info.n_events; i++) {
		const struct perf_event_attr *a = &f->events[i].attr;
		uint64_t off = f->header.attrs.offset + i * f->header.attr_size;

		if (a->sample_id_all != first->sample_id_all ||
		    id_place(a->sample_type, false) != id_place(first->sample_type, false) ||
		    id_place(a->sample_type, true) != id_place(first->sample_type, true))
			return bad_header(f, off,
					  "the records of this attr have their id at another place "
					  "than those of the first",
					  err);
		if (f->info.n_events > 1 && id_place(a->sample_type, false) < 0)
			return bad_header(f, off, "several attrs, but records without an id", err);
	}
	return 0;
}

static int read_attrs(struct perf_file *f, struct err *err)
{
	size_t n = f->header.attrs.size / f->header.attr_size, i;
	int code;

	f->events = calloc(n, sizeof(*f->events));
	f->names = calloc(n, sizeof(*f->names));
	if (!f->events || !f->names)
		return err_set(err, -ENOMEM, "%s: out of memory", f->path);
	f->info.events = f->events;
	f->info.n_events = n;
	for (i = 0; i < n; i++) {
		code = read_attr(f, i, err);
		if (code)
			return code;
	}
	if (f->n_ids)
		qsort(f->ids, f->n_ids, sizeof(*f->ids), by_id);
	f->info.ids = f->ids;
	f->info.n_ids = f->n_ids;
	return check_attrs(f, err);
}

int perf_file__open(const char *path, struct err *err, struct perf_file **ret)
{
	struct perf_file *f = calloc(1, sizeof(*f));
	int code;

	if (!f)
		return err_set(err, -ENOMEM, "%s: out of memory", path);
	f->path = strdup(path);
	f->info.path = f->path;
	code = f->path ? block_file__open(path, err, &f->file)
		       : err_set(err, -ENOMEM, "%s: out of memory", path);
	code = code ?: read_header(f, err) ?: read_attrs(f, err);
	f->records = f->file;
	f->data = f->header.data;
	code = code ?: file_sections__read(f, err);
	if (code) {
		perf_file__free(f);
		return code;
	}
	*ret = f;
	return 0;
}

void perf_file__free(struct perf_file *f)
{
	size_t i;

	if (!f)
		return;
	for (i = 0; f->names && i < f->info.n_events; i++)
		free(f->names[i]);
	for (i = 0; f->cmdline && f->cmdline[i]; i++)
		free(f->cmdline[i]);
	for (i = 0; i < sizeof(f->sections) / sizeof(f->sections[0]); i++)
		free(f->sections[i]);
	if (f->records != f->file)
		block_file__free(f->records);
	block_file__free(f->file);
	free(f->names);
	free(f->cmdline);
	free(f->events);
	free(f->ids);
	free(f->hostname);
	free(f->osrelease);
	free(f->arch);
	free(f->build_ids);
	free(f->formats);
	free(f->index);
	free(f->path);
	free(f);
}

const struct file_info *perf_file__info(const struct perf_file *f)
{
	return &f->info;
}

const struct file_format *perf_file__format(const struct perf_file *f, uint64_t id)
{
	for (size_t i = 0; i < f->info.n_formats; i++)
		if (f->formats[i].id == id)
			return &f->formats[i];
	return NULL;
}

bool perf_file__build_id(const struct perf_file *f, const char *name, struct build_id *ret)
{
	for (size_t i = 0; i < f->info.n_build_ids; i++) {
		if (strcmp(f->build_ids[i].name, name) == 0) {
			*ret = f->build_ids[i].id;
			return true;
		}
	}
	return false;
}
