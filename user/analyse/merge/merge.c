// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <uthash.h>

#include "analyse/merge/merge.h"
#include "analyse/merge/merge_events.h"
#include "analyse/merge/merge_features.h"
#include "common/array.h"
#include "common/cleanup.h"
#include "perfdata/record.h"

/*
 * Drops repeated naming records. Every file begins with records that name the addresses known at
 * its start. Such a record is redundant if another file has the same one, and covers the time since
 * then.
 */

struct merge_names { /* { 0 } is an empty one */
	struct said *said;
};

/* Content of a record, without its trailer */
struct said {
	UT_hash_handle hh;
	size_t file; /* the last file that contained it */
	/* ns: up to here, files with this record follow each other without a gap */
	uint64_t covered_until;
	size_t len;
	char content[];
};

/* Does a record of this type name tasks, maps or symbols? */
static bool merge_names__is_one(uint32_t type)
{
	switch (type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_NAMESPACES:
	case PERF_RECORD_CGROUP:
	case PERF_RECORD_KSYMBOL:
	case PERF_RECORD_BPF_EVENT:
		return true;
	default:
		return false;
	}
}

static struct said *add_said_record(struct merge_names *n, const void *content, size_t len)
{
	struct said *s = calloc(1, sizeof(*s) + len);

	if (!s)
		return NULL;
	memcpy(s->content, content, len);
	s->len = len;
	HASH_ADD_KEYPTR(hh, n->said, s->content, s->len, s);
	return s;
}

/*
 * Note naming record @h, at @time of file @number, which lasts until @last (ns). *ret_known: leave
 * @h out. It describes the state at the start of the file (@at_start), and another file has the
 * same record and covers the time since then. 0 or -ENOMEM.
 */
static int merge_names__note(struct merge_names *n, const struct perf_event_header *h,
			     size_t number, uint64_t time, uint64_t last, bool at_start,
			     bool *ret_known)
{
	size_t len = h->size - RECORD_TRAILER_SIZE;
	struct said *s;

	*ret_known = false;
	HASH_FIND(hh, n->said, h, len, s);
	if (!s) {
		s = add_said_record(n, h, len);
		if (!s)
			return -ENOMEM;
	} else if (at_start && s->file != number && time <= s->covered_until) {
		*ret_known = true;
	}
	if (!*ret_known || last > s->covered_until)
		s->covered_until = last;
	s->file = number;
	return 0;
}

static void merge_names__free(struct merge_names *n)
{
	struct said *s, *next;

	HASH_ITER (hh, n->said, s, next) {
		HASH_DEL(n->said, s);
		free(s);
	}
}

#define MARKERS_MAX 64	      /* of equal time, that are compared with each other */
#define ROUND_BYTES (1 << 20) /* of records per round, see perfdata__end_round() */

/* The next record of a file */
struct head {
	struct file_record rec;
	uint64_t time; /* ns; UINT64_MAX: end of the file */
	bool at_start; /* only naming records so far: they describe the state at the file's start */
};

/* A record of the current time, stored in merger.moment */
struct moment_record {
	size_t file;
	size_t at; /* offset in bytes */
	bool naming, at_start, left_out;
};

struct merger {
	const struct merge_request *req;
	struct merge_result *res;
	struct merge_input *v; /* sorted by first time; owned */
	struct head *heads;    /* one per input; owned */
	size_t n;
	struct merge_events *events;
	struct merge_names names;
	struct perfdata_writer *writer;
	struct buf moment; /* the records of the current time */
	struct moment_record *records;
	size_t n_records, cap_records;
	size_t round; /* bytes since the last round */
	uint64_t first_sample, last_sample;
};

static int merger_out_of_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

static int open_input(struct merge_input *in, const char *path, struct err *err)
{
	int code = perf_file__open(path, err, &in->file);

	if (code)
		return code;
	in->info = perf_file__info(in->file);
	return perf_file__span(in->file, err, &in->first, &in->last);
}

static int compare_inputs(const void *a, const void *b)
{
	const struct merge_input *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first)
		       ?: strcmp(x->info->path, y->info->path);
}

static bool same_optional_text(const char *a, const char *b)
{
	return !strcmp(a ?: "", b ?: "");
}

static const char *clock_name(const struct perf_event_attr *a)
{
	static char other[32];

	if (!a->use_clockid)
		return "perf's own clock";
	if (a->clockid == CLOCK_MONOTONIC)
		return "CLOCK_MONOTONIC";
	snprintf(other, sizeof(other), "clock %d", a->clockid);
	return other;
}

/* Times and ids of different machines, boots or clocks cannot be compared. */
static int check_alike(const struct merge_input *a, const struct merge_input *b, struct err *err)
{
	const struct perf_event_attr *x = &a->info->events[0].attr, *y = &b->info->events[0].attr;

	if (!same_optional_text(a->info->hostname, b->info->hostname))
		return err_set(err, -EINVAL,
			       "%s is of machine '%s', %s of '%s': merge them separately",
			       a->info->path, a->info->hostname ?: "", b->info->path,
			       b->info->hostname ?: "");
	if (!same_optional_text(a->info->osrelease, b->info->osrelease))
		return err_set(err, -EINVAL, "%s is of kernel %s, %s of %s: merge them separately",
			       a->info->path, a->info->osrelease ?: "?", b->info->path,
			       b->info->osrelease ?: "?");
	if (x->use_clockid != y->use_clockid || (x->use_clockid && x->clockid != y->clockid)) {
		_cleanup_free_ char *first = strdup(clock_name(x));

		return err_set(err, -EINVAL,
			       "%s has times of %s, %s of %s: record with `perf record -k "
			       "CLOCK_MONOTONIC`, as frbpf does",
			       a->info->path, first ?: "another clock", b->info->path,
			       clock_name(y));
	}
	return 0;
}

static int check_times(const struct merge_input *in, struct err *err)
{
	for (size_t i = 0; i < in->info->n_events; i++) {
		const struct file_event *e = &in->info->events[i];

		if (!(e->attr.sample_type & PERF_SAMPLE_TIME) || !e->attr.sample_id_all)
			return err_set(err, -EINVAL,
				       "%s: the records of %s have no times: record with -T",
				       in->info->path, e->name);
	}
	return 0;
}

static int open_inputs(struct merger *m, struct err *err)
{
	int code = 0;

	m->v = calloc(m->req->n_paths, sizeof(*m->v));
	m->heads = calloc(m->req->n_paths, sizeof(*m->heads));
	if (!m->v || !m->heads)
		return merger_out_of_memory(err);
	for (size_t i = 0; i < m->req->n_paths && !code; i++) {
		m->n++;
		code = open_input(&m->v[i], m->req->paths[i], err) ?: check_times(&m->v[i], err);
	}
	if (code)
		return code;
	qsort(m->v, m->n, sizeof(*m->v), compare_inputs);
	for (size_t i = 0; i < m->n && !code; i++)
		code = check_alike(&m->v[0], &m->v[i], err)
			       ?: merge_events__add(m->events, &m->v[i], err);
	return code;
}

/*
 * A record without a time describes the state at the file's start. It gets the time just before the
 * first record.
 */
static int advance_head(struct merger *m, size_t i, struct err *err)
{
	struct head *h = &m->heads[i];
	int code = perf_file__next(m->v[i].file, err, &h->rec);

	if (code <= 0) {
		h->time = UINT64_MAX;
		return code;
	}
	h->time = merge_record__time(&h->rec);
	if (!h->time)
		h->time = m->v[i].first > 1 ? m->v[i].first - 1 : 1;
	if (!merge_names__is_one(h->rec.h->type))
		h->at_start = false;
	return 0;
}

static int add_to_moment(struct merger *m, size_t i, struct err *err)
{
	const struct head *h = &m->heads[i];
	struct moment_record r = { .file = i,
				   .at = m->moment.len,
				   .naming = merge_names__is_one(h->rec.h->type),
				   .at_start = h->at_start };
	int code;

	code = merge_record__append(m->events, &m->v[i], &h->rec, h->time, &m->moment, err);
	if (code == -EFBIG) {
		m->res->refused++;
		return 0;
	}
	if (code)
		return code;
	if (!ARRAY_HAS_ROOM(m->records, m->n_records, m->cap_records, 64))
		return merger_out_of_memory(err);
	m->records[m->n_records++] = r;
	return 0;
}

static struct perf_event_header *merged_record_at(const struct merger *m,
						  const struct moment_record *r)
{
	return (void *)(m->moment.data + r->at);
}

/*
 * A marker has PERIOD, perhaps ADDR, and CALLCHAIN between the front of record.h and the raw data.
 * The dump of every session has the marker, but not every dump has its stack.
 */
static bool same_marker(const struct perf_event_header *a, const struct perf_event_header *b,
			bool has_addr)
{
	const size_t front = sizeof(*a) + (6 + has_addr) * sizeof(uint64_t);
	const struct merged_marker {
		uint64_t n_ips;
	} *x = (const void *)((const char *)a + front),
	  *y = (const void *)((const char *)b + front);
	size_t behind_a, behind_b;

	if (a->size < front + sizeof(*x) || b->size < front + sizeof(*y) ||
	    record__id(a) != record__id(b))
		return false;
	behind_a = front + (1 + x->n_ips) * sizeof(uint64_t);
	behind_b = front + (1 + y->n_ips) * sizeof(uint64_t);
	return behind_a < a->size && behind_b < b->size &&
	       a->size - behind_a == b->size - behind_b &&
	       !memcmp((const char *)a + behind_a, (const char *)b + behind_b, a->size - behind_a);
}

/* Sort equal records next to each other, ordered by file. */
static int compare_records(const void *a, const void *b, void *arg)
{
	const struct merger *m = arg;
	const struct moment_record *x = &m->records[*(const size_t *)a];
	const struct moment_record *y = &m->records[*(const size_t *)b];
	const struct perf_event_header *h = merged_record_at(m, x), *g = merged_record_at(m, y);

	if (h->size != g->size)
		return h->size < g->size ? -1 : 1;
	return memcmp(h, g, h->size) ?: (x->file > y->file) - (x->file < y->file);
}

static bool same_record(const struct merger *m, size_t a, size_t b)
{
	const struct perf_event_header *h = merged_record_at(m, &m->records[a]);
	const struct perf_event_header *g = merged_record_at(m, &m->records[b]);

	return h->size == g->size && !memcmp(h, g, h->size);
}

/* Leave out records that are also in another file. */
static int leave_out_doubles(struct merger *m)
{
	_cleanup_free_ size_t *order = NULL;
	size_t first = 0;

	if (m->n_records < 2 || m->records[0].file == m->records[m->n_records - 1].file)
		return 0;
	order = calloc(m->n_records, sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < m->n_records; i++)
		order[i] = i;
	qsort_r(order, m->n_records, sizeof(*order), compare_records, m);
	for (size_t i = 1; i < m->n_records; i++) {
		if (!same_record(m, order[first], order[i]))
			first = i;
		else if (m->records[order[i]].file != m->records[order[first]].file)
			m->records[order[i]].left_out = true;
	}
	return 0;
}

static bool is_marker(const struct merger *m, const struct moment_record *r)
{
	const struct perf_event_header *h = merged_record_at(m, r);

	return !r->left_out && h->type == PERF_RECORD_SAMPLE &&
	       merge_events__is_marker_id(m->events, record__id(h));
}

/* Of equal markers, keep the one with the stack. An incident has only a few. */
static void leave_out_markers(struct merger *m)
{
	bool has_addr = merge_events__marker_fields(m->events) & PERF_SAMPLE_ADDR;
	size_t v[MARKERS_MAX], n = 0;

	for (size_t i = 0; i < m->n_records && n < MARKERS_MAX; i++)
		if (is_marker(m, &m->records[i]))
			v[n++] = i;
	for (size_t i = 1; i < n; i++) {
		struct moment_record *r = &m->records[v[i]];

		for (size_t k = 0; k < i && !r->left_out; k++) {
			struct moment_record *o = &m->records[v[k]];
			const struct perf_event_header *h = merged_record_at(m, r);
			const struct perf_event_header *g = merged_record_at(m, o);

			if (!o->left_out && o->file != r->file && same_marker(h, g, has_addr))
				*(h->size > g->size ? &o->left_out : &r->left_out) = true;
		}
	}
}

static int write_record(struct merger *m, const struct moment_record *r, struct err *err)
{
	const struct perf_event_header *h = merged_record_at(m, r);
	const struct merge_input *in = &m->v[r->file];
	bool known = false;
	int code;

	if (r->naming && merge_names__note(&m->names, h, r->file, record__time(h), in->last,
					   r->at_start, &known))
		return merger_out_of_memory(err);
	if (known) {
		m->res->doubles++;
		return 0;
	}
	code = perfdata__write(m->writer, h, err);
	if (code == -EINVAL) {
		m->res->refused++;
		return 0;
	}
	if (code)
		return code;
	m->res->records++;
	m->round += h->size;
	if (h->type == PERF_RECORD_SAMPLE) {
		m->last_sample = record__time(h);
		m->first_sample = m->first_sample ?: m->last_sample;
	}
	if (m->round < ROUND_BYTES)
		return 0;
	m->round = 0;
	return perfdata__end_round(m->writer, err);
}

/*
 * The time of the next record, and the file that has it. *ret_others: the time of the first record
 * of any other file; both are UINT64_MAX at the end.
 */
static uint64_t next_moment(const struct merger *m, size_t *ret_file, uint64_t *ret_others)
{
	uint64_t time = UINT64_MAX, others = UINT64_MAX;

	*ret_file = 0;
	for (size_t i = 0; i < m->n; i++) {
		if (m->heads[i].time < time) {
			others = time;
			time = m->heads[i].time;
			*ret_file = i;
		} else if (m->heads[i].time < others) {
			others = m->heads[i].time;
		}
	}
	*ret_others = others;
	return time;
}

/*
 * Write the records of one file that are older than @until. No other file has records of that time.
 */
static int write_run(struct merger *m, size_t file, uint64_t until, struct err *err)
{
	int code = 0;

	while (!code && m->heads[file].time < until) {
		m->moment.len = 0;
		m->n_records = 0;
		code = add_to_moment(m, file, err) ?: advance_head(m, file, err);
		if (!code && m->n_records)
			code = write_record(m, &m->records[0], err);
	}
	return code;
}

static int write_moment(struct merger *m, uint64_t time, struct err *err)
{
	int code = 0;

	m->moment.len = 0;
	m->n_records = 0;
	for (size_t i = 0; i < m->n; i++) {
		while (!code && m->heads[i].time == time)
			code = add_to_moment(m, i, err) ?: advance_head(m, i, err);
	}
	if (!code && leave_out_doubles(m))
		code = merger_out_of_memory(err);
	leave_out_markers(m);
	for (size_t i = 0; i < m->n_records && !code; i++) {
		if (m->records[i].left_out)
			m->res->doubles++;
		else
			code = write_record(m, &m->records[i], err);
	}
	return code;
}

static int write_merged_records(struct merger *m, struct err *err)
{
	uint64_t time, others;
	size_t file;
	int code = 0;

	for (size_t i = 0; i < m->n && !code; i++) {
		m->heads[i].at_start = true;
		code = advance_head(m, i, err);
	}
	while (!code && (time = next_moment(m, &file, &others)) != UINT64_MAX)
		code = time < others ? write_run(m, file, others, err) : write_moment(m, time, err);
	return code ?: perfdata__end_round(m->writer, err);
}

static int write_merged_features(struct merger *m, struct err *err)
{
	struct merge_features *gathered = NULL;
	struct perfdata_features f;
	int code;

	code = merge_features__new(m->v, m->n, err, &gathered);
	if (code)
		return code;
	f = *merge_features__get(gathered);
	f.cmdline = m->req->cmdline;
	f.first_sample = m->first_sample;
	f.last_sample = m->last_sample;
	code = perfdata__finish(m->writer, &f, err);
	merge_features__free(gathered);
	return code;
}

static int write_result(struct merger *m, struct err *err)
{
	const struct perfdata_attr *attrs;
	int code = 0;

	if (merge_events__attrs(m->events, &attrs, &m->res->events))
		code = merger_out_of_memory(err);
	code = code
		       ?: perfdata__write_to(m->req->fd, m->req->out, attrs, m->res->events, err,
					     &m->writer);
	code = code ?: write_merged_records(m, err);
	return code ?: write_merged_features(m, err);
}

int merge__files(const struct merge_request *req, struct err *err, struct merge_result *ret)
{
	struct merger m = { .req = req, .res = ret };
	int code;

	*ret = (struct merge_result){ 0 };
	code = merge_events__new(&m.events) ? merger_out_of_memory(err) : 0;
	code = code ?: open_inputs(&m, err);
	code = code ?: write_result(&m, err);
	perfdata__free(m.writer);
	for (size_t i = 0; i < m.n; i++) {
		perf_file__free(m.v[i].file);
		free(m.v[i].events);
		free(m.v[i].ids);
	}
	merge_events__free(m.events);
	merge_names__free(&m.names);
	buf__free(&m.moment);
	free(m.records);
	free(m.heads);
	free(m.v);
	return code;
}
