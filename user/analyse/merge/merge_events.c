// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "analyse/merge/merge_events.h"
#include "common/array.h"
#include "perfdata/cursor.h"
#include "perfdata/encode.h"
#include "perfdata/file_attr.h"
#include "perfdata/marker.h"
#include "perfdata/record.h"
#include "perfdata/sample.h"

/* Replacement ids: above those of the kernel, below those of the markers */
#define FRESH_ID_BASE 0x6672627000000000ULL

/*
 * These fields are dropped: they would shift the fields that record.h expects at a fixed place. The
 * identifier in front replaces them.
 */
#define DROPPED_FIELDS (PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID)

#define NO_EVENT UINT32_MAX

/* The order of attributes in the file */
enum event_class { EVENT_RECORDED, EVENT_MARKER, EVENT_TRACKING };

struct merged_event {
	struct perf_event_attr attr;
	const char *name; /* from the first file that has it */
	struct perfdata_format format;
	enum event_class class;
	uint64_t *ids; /* owned */
	size_t n_ids, cap_ids;
	const struct merge_input **inputs; /* files that have it; owned */
	size_t n_inputs, cap_inputs;
};

struct merged_id {
	uint64_t id;
	uint32_t event;
	UT_hash_handle hh;
};

struct merge_events {
	struct merged_event *v; /* owned */
	size_t n, cap;
	struct merged_id *by_id;     /* owned */
	struct perfdata_attr *attrs; /* for merge_events__attrs(); owned */
	char (*format_names)[64];    /* one per event; owned */
	uint64_t next_fresh;
	uint64_t marker_fields;
};

int merge_events__new(struct merge_events **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->next_fresh = FRESH_ID_BASE;
	return 0;
}

void merge_events__free(struct merge_events *m)
{
	struct merged_id *id, *next;

	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++) {
		free(m->v[i].ids);
		free(m->v[i].inputs);
	}
	HASH_ITER (hh, m->by_id, id, next) {
		HASH_DEL(m->by_id, id);
		free(id);
	}
	free(m->v);
	free(m->attrs);
	free(m->format_names);
	free(m);
}

bool merge_events__is_marker(const struct perf_event_attr *attr)
{
	if (attr->type != PERF_TYPE_TRACEPOINT)
		return false;
	for (int kind = 0; kind < MARKER_LOCK_WAIT; kind++)
		if (marker__attr(kind)->config == attr->config)
			return true;
	return false;
}

static bool is_tracking(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_DUMMY;
}

/*
 * The attributes of the rewritten records, with the front and the trailer of record.h. For the side
 * band, clear options that differ between sessions but mean nothing there.
 */
static struct perf_event_attr merged_attr(const struct perf_event_attr *from)
{
	struct perf_event_attr a = *from;

	a.sample_type = (a.sample_type & ~(uint64_t)DROPPED_FIELDS) | RECORD_SAMPLE_TYPE;
	a.sample_id_all = 1;
	if (merge_events__is_marker(from)) {
		a.sample_type &= ~(uint64_t)RECORD_EMPTY_FIELDS; /* see merge_events__attrs() */
		a.sample_type |= PERF_SAMPLE_CALLCHAIN;
		a.branch_sample_type = 0;
		a.sample_regs_user = a.sample_regs_intr = 0;
	} else if (is_tracking(from)) {
		a.sample_type = RECORD_SAMPLE_TYPE;
		a.branch_sample_type = 0;
		a.sample_regs_user = a.sample_regs_intr = 0;
		a.sample_stack_user = 0;
	}
	return a;
}

static enum event_class event_class(const struct perf_event_attr *attr)
{
	if (merge_events__is_marker(attr))
		return EVENT_MARKER;
	return is_tracking(attr) ? EVENT_TRACKING : EVENT_RECORDED;
}

static struct merged_id *find_merged_id(const struct merge_events *m, uint64_t id)
{
	struct merged_id *ret;

	HASH_FIND(hh, m->by_id, &id, sizeof(id), ret);
	return ret;
}

bool merge_events__is_marker_id(const struct merge_events *m, uint64_t id)
{
	const struct merged_id *known = find_merged_id(m, id);

	return known && m->v[known->event].class == EVENT_MARKER;
}

static bool has_same_attr(const struct merged_event *e, const struct perf_event_attr *attr,
			  const char *name)
{
	return !memcmp(&e->attr, attr, sizeof(*attr)) && !strcmp(e->name, name);
}

/* Has another session recorded this event at the same time? Then the two have different ids. */
static bool was_recorded_beside(const struct merged_event *e, const struct merge_input *in)
{
	if (e->class != EVENT_RECORDED)
		return false;
	for (size_t i = 0; i < e->n_inputs; i++)
		if (e->inputs[i]->first <= in->last && in->first <= e->inputs[i]->last)
			return true;
	return false;
}

/* For each event of @in, set in->events to the event of the result that has one of its ids. */
static void find_known_events(const struct merge_events *m, struct merge_input *in)
{
	for (size_t i = 0; i < in->info->n_events; i++)
		in->events[i] = NO_EVENT;
	for (size_t i = 0; i < in->info->n_ids; i++) {
		uint32_t *to = &in->events[in->info->ids[i].event];
		const struct merged_id *known =
			*to == NO_EVENT ? find_merged_id(m, in->info->ids[i].id) : NULL;

		if (known)
			*to = known->event;
	}
}

/* Index in the result of event @number of @in; m->n: a new one. */
static size_t find_event(const struct merge_events *m, const struct merge_input *in,
			 uint32_t number, const struct perf_event_attr *attr)
{
	const char *name = in->info->events[number].name;
	uint32_t known = in->events[number];

	if (known != NO_EVENT && has_same_attr(&m->v[known], attr, name))
		return known;
	for (size_t i = 0; i < m->n; i++)
		if (has_same_attr(&m->v[i], attr, name) && !was_recorded_beside(&m->v[i], in))
			return i;
	return m->n;
}

static bool same_format(const struct perfdata_format *a, const struct file_format *b)
{
	return a->len == b->len && !strcmp(a->system, b->system) &&
	       !memcmp(a->text, b->text, b->len);
}

/* A file has one format per id, but ids of tracepoints change from boot to boot. */
static int check_merged_format(const struct merge_events *m, const struct merge_input *in,
			       const struct file_event *e, const struct file_format *format,
			       struct err *err)
{
	if (!format)
		return err_set(err, -EINVAL, "%s: the format of %s is missing", in->info->path,
			       e->name);
	for (size_t i = 0; i < m->n; i++) {
		const struct merged_event *o = &m->v[i];

		if (o->attr.type == PERF_TYPE_TRACEPOINT && o->attr.config == format->id &&
		    !same_format(&o->format, format))
			return err_set(err, -EINVAL,
				       "%s: the format of %s differs from that in %s (another boot "
				       "or version): one file cannot hold both",
				       in->info->path, e->name, o->inputs[0]->info->path);
	}
	return 0;
}

static int add_merged_event(struct merge_events *m, const struct merge_input *in,
			    const struct file_event *e, const struct perf_event_attr *attr,
			    struct err *err)
{
	const struct file_format *format = NULL;
	struct merged_event *new;
	int code;

	if (attr->type == PERF_TYPE_TRACEPOINT) {
		format = perf_file__format(in->file, attr->config);
		code = check_merged_format(m, in, e, format, err);
		if (code)
			return code;
	}
	if (!ARRAY_HAS_ROOM(m->v, m->n, m->cap, 16))
		return err_set(err, -ENOMEM, "out of memory");
	new = &m->v[m->n++];
	*new = (struct merged_event){ .attr = *attr, .name = e->name, .class = event_class(attr) };
	if (format)
		new->format = (struct perfdata_format){ .system = format->system,
							.text = format->text,
							.len = format->len };
	return 0;
}

static int note_input(struct merged_event *e, const struct merge_input *in)
{
	if (!ARRAY_HAS_ROOM(e->inputs, e->n_inputs, e->cap_inputs, 4))
		return -ENOMEM;
	e->inputs[e->n_inputs++] = in;
	return 0;
}

/* Give @event the id @id, or a fresh one if that is taken. */
static int add_id(struct merge_events *m, uint32_t event, uint64_t id, uint64_t *ret)
{
	struct merged_event *e = &m->v[event];
	struct merged_id *known = id ? find_merged_id(m, id) : NULL;

	if (known && known->event == event) {
		*ret = id;
		return 0;
	}
	if (known || !id)
		id = m->next_fresh++;
	known = calloc(1, sizeof(*known));
	if (!known || !ARRAY_HAS_ROOM(e->ids, e->n_ids, e->cap_ids, 4)) {
		free(known);
		return -ENOMEM;
	}
	*known = (struct merged_id){ .id = id, .event = event };
	HASH_ADD(hh, m->by_id, id, sizeof(known->id), known);
	e->ids[e->n_ids++] = *ret = id;
	return 0;
}

static int add_input_ids(struct merge_events *m, struct merge_input *in)
{
	const struct file_info *info = in->info;
	uint64_t unused;
	int err = 0;

	for (size_t i = 0; i < info->n_ids && !err; i++)
		err = add_id(m, in->events[info->ids[i].event], info->ids[i].id, &in->ids[i]);
	/* a file with one event may list no id at all */
	for (size_t i = 0; i < info->n_events && !err; i++)
		if (!m->v[in->events[i]].n_ids)
			err = add_id(m, in->events[i], 0, &unused);
	return err;
}

int merge_events__add(struct merge_events *m, struct merge_input *in, struct err *err)
{
	const struct file_info *info = in->info;
	int code = 0;

	in->events = calloc(info->n_events, sizeof(*in->events));
	in->ids = calloc(info->n_ids + 1, sizeof(*in->ids));
	if (!in->events || !in->ids)
		return err_set(err, -ENOMEM, "out of memory");
	find_known_events(m, in);
	for (uint32_t i = 0; i < info->n_events && !code; i++) {
		struct perf_event_attr attr = merged_attr(&info->events[i].attr);
		size_t at = find_event(m, in, i, &attr);

		if (at == m->n)
			code = add_merged_event(m, in, &info->events[i], &attr, err);
		if (!code && note_input(&m->v[at], in))
			code = err_set(err, -ENOMEM, "out of memory");
		in->events[i] = at;
	}
	if (!code && add_input_ids(m, in))
		code = err_set(err, -ENOMEM, "out of memory");
	return code;
}

/* The name in "name: NAME" of a format; the writer sorts by it. */
static void name_format(struct merged_event *e, char name[64])
{
	const char *end = memchr(e->format.text, '\n', e->format.len);

	if (end && e->format.len > 6 && !memcmp(e->format.text, "name: ", 6))
		snprintf(name, 64, "%.*s", (int)(end - e->format.text - 6), e->format.text + 6);
	e->format.name = name;
}

/* Fields that markers leave empty: those that all recorded events have. */
static uint64_t empty_fields(const struct merge_events *m)
{
	uint64_t all = RECORD_EMPTY_FIELDS;
	bool any = false;

	for (size_t i = 0; i < m->n; i++) {
		if (m->v[i].class != EVENT_RECORDED)
			continue;
		all &= m->v[i].attr.sample_type;
		any = true;
	}
	return any ? all : 0;
}

int merge_events__attrs(struct merge_events *m, const struct perfdata_attr **ret, size_t *ret_n)
{
	size_t n = 0;

	m->marker_fields = empty_fields(m);
	m->attrs = calloc(m->n, sizeof(*m->attrs));
	m->format_names = calloc(m->n, sizeof(*m->format_names));
	if (!m->attrs || !m->format_names)
		return -ENOMEM;
	for (enum event_class class = EVENT_RECORDED; class <= EVENT_TRACKING; class ++) {
		for (size_t i = 0; i < m->n; i++) {
			struct merged_event *e = &m->v[i];

			if (e->class != class)
				continue;
			if (class == EVENT_TRACKING && n)
				file_attr__list_common(&e->attr, m->attrs, n);
			if (class == EVENT_MARKER && n)
				marker__add_fields(&e->attr, m->marker_fields, m->attrs[0].attr);
			if (e->format.text)
				name_format(e, m->format_names[i]);
			m->attrs[n++] = (struct perfdata_attr){
				.attr = &e->attr,
				.name = e->name,
				.ids = e->ids,
				.n_ids = e->n_ids,
				.format = e->format.text ? &e->format : NULL,
			};
		}
	}
	*ret = m->attrs;
	*ret_n = n;
	return 0;
}

/* Index of the first id of the file that is not below @id; n_ids: all are. */
static size_t find_file_id(const struct file_info *info, uint64_t id)
{
	return LOWER_BOUND(i, info->n_ids, info->ids[i].id < id);
}

uint64_t merge_events__id(const struct merge_events *m, const struct merge_input *in,
			  uint32_t event, uint64_t id)
{
	const struct file_info *info = in->info;
	size_t i = find_file_id(info, id);

	if (i < info->n_ids && info->ids[i].id == id && info->ids[i].event == event)
		return in->ids[i];
	return m->v[in->events[event]].ids[0];
}

uint64_t merge_events__counter_id(const struct merge_events *m, const struct merge_input *in,
				  uint32_t event, uint64_t id)
{
	const struct file_info *info = in->info;
	size_t i = find_file_id(info, id);

	if (i < info->n_ids && info->ids[i].id == id)
		return in->ids[i];
	return m->v[in->events[event]].ids[0];
}

uint64_t merge_events__marker_fields(const struct merge_events *m)
{
	return m->marker_fields;
}

const struct perf_event_attr *merge_events__attr(const struct merge_events *m,
						 const struct merge_input *in, uint32_t event)
{
	return &m->v[in->events[event]].attr;
}

static struct cursor record_body_cursor(const struct perf_event_header *h)
{
	return cursor__init(h + 1, h->size - sizeof(*h));
}

uint64_t merge_record__time(const struct file_record *rec)
{
	struct cursor c = record_body_cursor(rec->h);

	if (rec->h->type == PERF_RECORD_SAMPLE)
		return sample__front(&c, rec->event->attr.sample_type).time;
	return record__time(rec->h) == UINT64_MAX ? 0 : record__time(rec->h);
}

static uint32_t event_number(const struct merge_input *in, const struct file_record *rec)
{
	return rec->event - in->info->events;
}

/* @type, @new_type: sample_type of the event in its file and in the result */
static int add_front(const struct sample_front *s, uint64_t type, uint64_t new_type, uint64_t id,
		     struct buf *out)
{
	uint32_t task[2] = { s->pid, s->tid };
	uint64_t words[7] = { id, s->ip, 0, s->time };
	size_t n = 4;

	memcpy(&words[2], task, sizeof(task));
	if (new_type & PERF_SAMPLE_ADDR)
		words[n++] = s->addr;
	words[n++] = type & PERF_SAMPLE_CPU ? s->cpu : UINT32_MAX;
	if (new_type & PERF_SAMPLE_PERIOD)
		words[n++] = s->period;
	return buf__add(out, words, n * sizeof(*words));
}

/* Append one counter value with the fields around it; its id changes. */
static int add_value(const struct merge_events *m, const struct merge_input *in, uint32_t event,
		     struct cursor *c, uint64_t format, struct buf *out)
{
	int err = encode__u64(out, cursor__u64(c));
	uint64_t id;

	if (!(format & PERF_FORMAT_GROUP)) {
		for (uint64_t bit = PERF_FORMAT_TOTAL_TIME_ENABLED;
		     bit <= PERF_FORMAT_TOTAL_TIME_RUNNING; bit <<= 1)
			if (!err && format & bit)
				err = encode__u64(out, cursor__u64(c));
	}
	if (!err && format & PERF_FORMAT_ID) {
		id = cursor__u64(c);
		err = encode__u64(out, merge_events__counter_id(m, in, event, id));
	}
	if (!err && format & PERF_FORMAT_LOST)
		err = encode__u64(out, cursor__u64(c));
	return err;
}

/* Append the counter values that follow in @c: struct read_format of perf_event.h. */
static int add_read_counters(const struct merge_events *m, const struct merge_input *in,
			     uint32_t event, struct cursor *c, uint64_t format, struct buf *out)
{
	uint64_t n = 1;
	int err = 0;

	if (format & PERF_FORMAT_GROUP) {
		n = cursor__u64(c);
		err = encode__u64(out, n);
		for (uint64_t bit = PERF_FORMAT_TOTAL_TIME_ENABLED;
		     bit <= PERF_FORMAT_TOTAL_TIME_RUNNING; bit <<= 1)
			if (!err && format & bit)
				err = encode__u64(out, cursor__u64(c));
	}
	for (; n && !err && !c->bad; n--)
		err = add_value(m, in, event, c, format, out);
	return err;
}

/*
 * Append the rest of a marker: its raw data, then the fields of the result that are empty in
 * markers.
 */
static int append_marker_rest(struct cursor *c, uint64_t type, uint64_t new_type, struct buf *out,
			      bool *ret_bad)
{
	size_t tail = 8 * __builtin_popcountll(type & RECORD_EMPTY_TAIL);
	size_t new_tail = 8 * __builtin_popcountll(new_type & RECORD_EMPTY_TAIL);
	size_t left = cursor__left(c);

	*ret_bad = c->bad || left < tail;
	if (*ret_bad)
		return 0;
	return buf__add(out, c->p, left - tail) ?: buf__add_zero(out, new_tail);
}

static int append_sample(const struct merge_events *m, const struct merge_input *in,
			 const struct file_record *rec, struct buf *out, bool *ret_bad)
{
	uint32_t event = event_number(in, rec);
	uint64_t type = rec->event->attr.sample_type;
	uint64_t new_type = merge_events__attr(m, in, event)->sample_type;
	struct cursor c = record_body_cursor(rec->h);
	struct sample_front s = sample__front(&c, type);
	int err;

	err = buf__add(out, rec->h, sizeof(*rec->h))
		      ?: add_front(&s, type, new_type, merge_events__id(m, in, event, s.id), out);
	if (!err && type & PERF_SAMPLE_READ)
		err = add_read_counters(m, in, event, &c, rec->event->attr.read_format, out);
	/* an empty callchain */
	if (!err && new_type & PERF_SAMPLE_CALLCHAIN && !(type & PERF_SAMPLE_CALLCHAIN))
		err = encode__u64(out, 0);
	if (merge_events__is_marker(&rec->event->attr))
		return err ?: append_marker_rest(&c, type, new_type, out, ret_bad);
	*ret_bad = c.bad;
	return err ?: buf__add(out, c.p, cursor__left(&c));
}

static int append_other_record(const struct file_record *rec, uint64_t time, struct buf *out)
{
	struct record_trailer t;
	int err = buf__add(out, rec->h, rec->h->size);

	if (err)
		return err;
	memcpy(&t, out->data + out->len - sizeof(t), sizeof(t));
	if (!t.time || t.time == UINT64_MAX)
		t.time = time;
	memcpy(out->data + out->len - sizeof(t), &t, sizeof(t));
	return 0;
}

int merge_record__append(const struct merge_events *m, const struct merge_input *in,
			 const struct file_record *rec, uint64_t time, struct buf *out,
			 struct err *err)
{
	size_t start = out->len, len;
	struct perf_event_header h;
	bool bad = false;
	int code;

	if (rec->h->type == PERF_RECORD_SAMPLE)
		code = append_sample(m, in, rec, out, &bad);
	else
		code = append_other_record(rec, time, out);
	len = out->len - start;
	if (!code && bad)
		code = perf_file__bad_record(in->file, rec, "its fields do not fit into it", err);
	else if (!code && len > UINT16_MAX)
		code = -EFBIG;
	else if (code)
		code = err_set(err, -ENOMEM, "out of memory");
	if (code) {
		out->len = start;
		return code;
	}
	memcpy(&h, out->data + start, sizeof(h));
	h.size = len;
	memcpy(out->data + start, &h, sizeof(h));
	return 0;
}
