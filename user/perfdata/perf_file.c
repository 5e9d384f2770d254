// SPDX-License-Identifier: GPL-2.0-only
/* Layout: tools/perf/util/header.c: perf_session__do_write_header. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "common/format_field.h"
#include "perfdata/cursor.h"
#include "perfdata/file_layout.h"
#include "perfdata/perf_file_impl.h"

/* ---- feature sections: no field points to their table, it follows the records ---- */

/* A feature that we do not write, but that changes how a file is read. */
#define HEADER_DIR_FORMAT 24

#define STRINGS_MAX 65536 /* arguments of a command line */

static int file_out_of_memory(const struct perf_file *f, struct err *err)
{
	return err_set(err, -ENOMEM, "%s: out of memory", f->path);
}

static int read_string(struct perf_file *f, struct cursor *c, char **to, struct err *err)
{
	const char *s = cursor__string(c);

	if (!s)
		return 0; /* the caller sees that the cursor is bad */
	*to = strdup(s);
	return *to ? 0 : file_out_of_memory(f, err);
}

static int read_hostname(struct perf_file *f, struct cursor *c, struct err *err)
{
	int code = read_string(f, c, &f->hostname, err);

	f->info.hostname = f->hostname;
	return code;
}

static int read_osrelease(struct perf_file *f, struct cursor *c, struct err *err)
{
	int code = read_string(f, c, &f->osrelease, err);

	f->info.osrelease = f->osrelease;
	return code;
}

static int read_arch(struct perf_file *f, struct cursor *c, struct err *err)
{
	int code = read_string(f, c, &f->arch, err);

	f->info.arch = f->arch;
	return code;
}

static int read_cmdline(struct perf_file *f, struct cursor *c, struct err *err)
{
	uint32_t n = cursor__u32(c), i;
	int code = 0;

	if (n > STRINGS_MAX)
		c->bad = true;
	if (c->bad)
		return 0;
	f->cmdline = calloc(n + 1, sizeof(*f->cmdline));
	if (!f->cmdline)
		return file_out_of_memory(f, err);
	for (i = 0; i < n && !c->bad && !code; i++)
		code = read_string(f, c, &f->cmdline[i], err);
	f->info.cmdline = (const char *const *)f->cmdline;
	return code;
}

static int read_sample_time(struct perf_file *f, struct cursor *c, struct err *err)
{
	f->info.first_sample = cursor__u64(c);
	f->info.last_sample = cursor__u64(c);
	return 0;
}

static int read_event_desc(struct perf_file *f, struct cursor *c, struct err *err)
{
	uint32_t n = cursor__u32(c), attr_size = cursor__u32(c), i;

	for (i = 0; i < n && !c->bad; i++) {
		const void *attr = cursor__bytes(c, attr_size);
		uint32_t n_ids = cursor__u32(c);
		char *name = NULL;
		int code = read_string(f, c, &name, err);

		cursor__bytes(c, (uint64_t)n_ids * sizeof(uint64_t));
		if (code || !attr || !name || i >= f->info.n_events) {
			free(name);
			if (code)
				return code;
			continue;
		}
		free(f->names[i]);
		f->events[i].name = f->names[i] = name;
	}
	return 0;
}

/* Entries as written by tools/perf/util/build-id.c: write_buildid. Names point into the section. */
struct build_id_head {
	struct perf_event_header header;
	int32_t pid;
	uint8_t id[BUILD_ID_MAX];
	uint8_t size; /* valid if misc has the bit below */
	uint8_t zero[3];
};
#define MISC_BUILD_ID_SIZE (1 << 15)

static int read_build_ids(struct perf_file *f, struct cursor *c, struct err *err)
{
	struct build_id_head h;

	while (cursor__left(c) && !c->bad) {
		const char *entry = c->p;
		struct file_build_id *v;

		if (cursor__left(c) >= sizeof(h))
			memcpy(&h, entry, sizeof(h));
		if (cursor__left(c) <= sizeof(h) || h.header.size <= sizeof(h) ||
		    h.header.size > cursor__left(c) ||
		    !memchr(entry + sizeof(h), 0, h.header.size - sizeof(h))) {
			c->bad = true;
			return 0;
		}
		cursor__bytes(c, h.header.size);
		if (!(h.header.misc & MISC_BUILD_ID_SIZE))
			h.size = BUILD_ID_MAX;
		if (h.size > BUILD_ID_MAX) {
			c->p = entry;
			c->bad = true;
			return 0;
		}
		v = f->build_ids;
		if (!(f->info.n_build_ids & (f->info.n_build_ids - 1))) /* 0 or a power of two */
			v = reallocarray(v, f->info.n_build_ids ? 2 * f->info.n_build_ids : 1,
					 sizeof(*v));
		if (!v)
			return file_out_of_memory(f, err);
		f->info.build_ids = f->build_ids = v;
		v += f->info.n_build_ids++;
		*v = (struct file_build_id){
			.name = entry + sizeof(h),
			.kernel = (h.header.misc & PERF_RECORD_MISC_CPUMODE_MASK) ==
				  PERF_RECORD_MISC_KERNEL,
			.id.size = h.size,
		};
		memcpy(v->id.data, h.id, h.size);
	}
	return 0;
}

static int add_format(struct perf_file *f, const char *system, const char *text, size_t len,
		      struct err *err)
{
	struct file_format *v = f->formats;
	uint64_t id;

	if (!format_text__id(text, len, &id))
		return 0; /* nothing can refer to it */
	if (!(f->info.n_formats & (f->info.n_formats - 1)))
		v = reallocarray(v, f->info.n_formats ? 2 * f->info.n_formats : 1, sizeof(*v));
	if (!v)
		return file_out_of_memory(f, err);
	f->info.formats = f->formats = v;
	v[f->info.n_formats++] = (struct file_format){ id, system, text, len };
	return 0;
}

static struct file_blob read_blob(struct cursor *c, uint64_t len)
{
	return (struct file_blob){ .data = cursor__bytes(c, len), .len = c->bad ? 0 : len };
}

/* What follows the formats is optional, as for perf. */
static void read_tracing_rest(struct perf_file *f, struct cursor c)
{
	cursor__bytes(&c, cursor__u32(&c)); /* kallsyms */
	f->info.tracing.printk_formats = read_blob(&c, cursor__u32(&c));
	f->info.tracing.saved_cmdlines = read_blob(&c, cursor__u64(&c));
}

/* Layout: tools/perf/util/trace-event-info.c. */
static int read_tracing_data(struct perf_file *f, struct cursor *c, struct err *err)
{
	struct file_tracing *t = &f->info.tracing;
	static const char magic[10] = "\x17\x08\x44tracing";
	const void *start = cursor__bytes(c, sizeof(magic));
	uint32_t n, events;
	int code = 0;

	cursor__name(c);			    /* version */
	cursor__bytes(c, 1 + 1 + sizeof(uint32_t)); /* byte order, size of a long, of a page */
	cursor__name(c);
	t->header_page = read_blob(c, cursor__u64(c));
	cursor__name(c);
	t->header_event = read_blob(c, cursor__u64(c));
	if (!start || memcmp(start, magic, sizeof(magic)))
		c->bad = true;
	for (n = cursor__u32(c); n && !c->bad; n--) /* formats of ftrace itself */
		cursor__bytes(c, cursor__u64(c));
	for (n = cursor__u32(c); n && !c->bad && !code; n--) {
		const char *system = cursor__name(c);

		for (events = cursor__u32(c); events && !c->bad && !code; events--) {
			uint64_t len = cursor__u64(c);
			const char *text = cursor__bytes(c, len);

			if (text)
				code = add_format(f, system, text, len, err);
		}
	}
	read_tracing_rest(f, *c);
	return code;
}

/* @keep: the body of the section is kept, because f->info points into it. */
static const struct section {
	unsigned int bit;
	const char *name;
	int (*read)(struct perf_file *f, struct cursor *c, struct err *err);
	bool keep;
} sections[] = {
	{ HEADER_TRACING_DATA, "TRACING_DATA", read_tracing_data, true },
	{ HEADER_BUILD_ID, "BUILD_ID", read_build_ids, true },
	{ HEADER_HOSTNAME, "HOSTNAME", read_hostname, false },
	{ HEADER_OSRELEASE, "OSRELEASE", read_osrelease, false },
	{ HEADER_ARCH, "ARCH", read_arch, false },
	{ HEADER_CMDLINE, "CMDLINE", read_cmdline, false },
	{ HEADER_EVENT_DESC, "EVENT_DESC", read_event_desc, false },
	{ HEADER_SAMPLE_TIME, "SAMPLE_TIME", read_sample_time, false },
};

static bool has_feature(const struct perf_file *f, unsigned int bit)
{
	return f->header.features[bit / 64] >> (bit % 64) & 1;
}

static int find_section(struct perf_file *f, unsigned int bit, struct file_range *ret,
			struct err *err)
{
	uint64_t table = f->header.data.offset + f->header.data.size, n = 0;
	uint64_t size = block_file__size(f->file);
	int code;

	for (unsigned int b = 0; b < bit; b++)
		n += has_feature(f, b);
	code = block_file__read(f->file, table + n * sizeof(*ret), ret, sizeof(*ret), err);
	if (!code && (ret->offset > size || ret->size > size - ret->offset))
		code = err_set(err, -EINVAL,
			       "%s: the feature table is damaged at offset %" PRIu64
			       ": section %u reaches past the end of the file",
			       f->path, table + n * sizeof(*ret), bit);
	if (code && !f->header.data.size)
		code = err_set(err, -EINVAL,
			       "%s: the header says at offset 48 that there are no records: the "
			       "recording was not ended properly",
			       f->path);
	return code;
}

static int read_file_section(struct perf_file *f, const struct section *s, void **kept,
			     struct err *err)
{
	struct file_range range;
	struct cursor c;
	char *body;
	int code = find_section(f, s->bit, &range, err);

	if (code)
		return code;
	body = malloc(range.size + 1);
	if (!body)
		return file_out_of_memory(f, err);
	code = block_file__read(f->file, range.offset, body, range.size, err);
	if (!code) {
		c = cursor__init(body, range.size);
		code = s->read(f, &c, err);
		if (!code && c.bad)
			code = err_set(err, -EINVAL,
				       "%s: section %s is damaged at offset %" PRIu64
				       ": its contents need more bytes than its size says",
				       f->path, s->name, range.offset + (uint64_t)(c.p - body));
	}
	if (s->keep)
		*kept = body;
	else
		free(body);
	return code;
}

/* Make a name if EVENT_DESC has none. */
static int name_event(struct perf_file *f, size_t i, struct err *err)
{
	const struct perf_event_attr *a = &f->events[i].attr;
	const struct file_format *format = NULL;
	const char *name, *end = NULL;
	int n;

	if (a->type == PERF_TYPE_TRACEPOINT)
		format = perf_file__format(f, a->config);
	if (format && format->len > 6 && !memcmp(format->text, "name: ", 6))
		end = memchr(format->text, '\n', format->len);
	if (end) {
		name = format->text + 6;
		n = asprintf(&f->names[i], "%s:%.*s", format->system, (int)(end - name), name);
	} else {
		n = asprintf(&f->names[i], "%u:%" PRIu64, a->type, (uint64_t)a->config);
	}
	if (n < 0) {
		f->names[i] = NULL;
		return file_out_of_memory(f, err);
	}
	f->events[i].name = f->names[i];
	return 0;
}

/* Check all sections, also those that are not read, to detect a truncated file. */
static int check_sections(struct perf_file *f, struct err *err)
{
	struct file_range range;
	int code = 0;

	for (unsigned int bit = 0; bit < FILE_FEATURES && !code; bit++)
		if (has_feature(f, bit))
			code = find_section(f, bit, &range, err);
	return code;
}

int perf_file__section(struct perf_file *f, unsigned int bit, struct buf *ret, struct err *err)
{
	size_t start = ret->len;
	struct file_range range;
	int code;

	if (bit >= FILE_FEATURES || !has_feature(f, bit))
		return -ENOENT;
	code = find_section(f, bit, &range, err);
	if (!code && buf__add_zero(ret, range.size))
		code = file_out_of_memory(f, err);
	code = code ?: block_file__read(f->file, range.offset, ret->data + start, range.size, err);
	if (code)
		ret->len = start;
	return code;
}

static int read_sections(struct perf_file *f, struct err *err)
{
	size_t i, n_kept = 0;
	int code = 0;

	if (has_feature(f, HEADER_DIR_FORMAT))
		return err_set(err, -EINVAL,
			       "%s: recorded into a directory: record again without --threads",
			       f->path);
	code = check_sections(f, err);
	for (i = 0; i < ARRAY_SIZE(sections) && !code; i++) {
		if (has_feature(f, sections[i].bit))
			code = read_file_section(f, &sections[i], &f->sections[n_kept], err);
		n_kept += sections[i].keep;
	}
	for (i = 0; i < f->info.n_events && !code; i++)
		if (!f->events[i].name)
			code = name_event(f, i, err);
	if (!code && has_feature(f, HEADER_COMPRESSED))
		code = file_inflate(f, err);
	return code;
}

/* ---- header and attributes ---- */

#define PIPE_HEADER_SIZE 16
#define ATTR_SIZE_VER0	 64
#define ATTR_SIZE_MAX	 4096 /* PAGE_SIZE: the kernel's limit */
#define EVENTS_MAX	 16384

static int bad_header(const struct perf_file *f, uint64_t off, const char *why, struct err *err)
{
	return err_set(err, -EINVAL, "%s: the header is damaged at offset %" PRIu64 ": %s", f->path,
		       off, why);
}

static bool range_is_in_file(const struct perf_file *f, const struct file_range *r)
{
	uint64_t size = block_file__size(f->file);

	return r->offset <= size && r->size <= size - r->offset;
}

static int check_file_magic(const struct perf_file *f, const struct file_header *h, struct err *err)
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

static int check_file_header(const struct perf_file *f, struct err *err)
{
	const struct file_header *h = &f->header;

	if (h->size != sizeof(*h))
		return bad_header(f, 8, "its size is not 104", err);
	if (h->attr_size < ATTR_SIZE_VER0 + sizeof(struct file_range) ||
	    h->attr_size > ATTR_SIZE_MAX)
		return bad_header(f, 16, "an attr cannot have that size", err);
	if (!range_is_in_file(f, &h->attrs))
		return bad_header(f, 24, "the attrs reach past the end of the file", err);
	if (!h->attrs.size || h->attrs.size % h->attr_size)
		return bad_header(f, 32, "the attrs' size is no multiple of an attr's", err);
	if (h->attrs.size / h->attr_size > EVENTS_MAX)
		return bad_header(f, 32, "more than 16384 attrs", err);
	if (!range_is_in_file(f, &h->data))
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
	    check_file_magic(f, &f->header, err) ?:
	    block_file__read(f->file, 0, &f->header, sizeof(f->header), err);
	return code ?: check_file_header(f, err);
}

/* Read the ids of event @i, at @r in the file. */
static int read_ids(struct perf_file *f, uint32_t i, uint64_t attr_off, const struct file_range *r,
		    struct err *err)
{
	size_t n = r->size / sizeof(uint64_t), k;
	struct file_id *ids;
	int code;

	if (!range_is_in_file(f, r) || r->size % sizeof(uint64_t))
		return bad_header(f, attr_off, "the ids of this attr are not in the file", err);
	/* ids do not overlap, so their total is limited by the size of the file */
	if (n > block_file__size(f->file) / sizeof(uint64_t) - f->n_ids)
		return bad_header(f, attr_off, "the ids of this attr overlap those of another",
				  err);
	if (!n)
		return 0;
	ids = reallocarray(f->ids, f->n_ids + n, sizeof(*ids));
	if (!ids)
		return file_out_of_memory(f, err);
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

static int compare_event_ids(const void *a, const void *b)
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
	const uint64_t after = PERF_SAMPLE_CPU | PERF_SAMPLE_STREAM_ID;

	if (sample_type & PERF_SAMPLE_IDENTIFIER)
		return 0;
	if (!(sample_type & PERF_SAMPLE_ID))
		return -1;
	return __builtin_popcountll(sample_type & (from_back ? after : before));
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
		return file_out_of_memory(f, err);
	f->info.events = f->events;
	f->info.n_events = n;
	for (i = 0; i < n; i++) {
		code = read_attr(f, i, err);
		if (code)
			return code;
	}
	if (f->n_ids)
		qsort(f->ids, f->n_ids, sizeof(*f->ids), compare_event_ids);
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
	code = code ?: read_sections(f, err);
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
	for (i = 0; i < ARRAY_SIZE(f->sections); i++)
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
