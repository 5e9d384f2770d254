// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "analyse/merge/merge_record.h"
#include "perfdata/cursor.h"
#include "perfdata/encode.h"
#include "perfdata/record.h"
#include "perfdata/sample.h"

static struct cursor body_of(const struct perf_event_header *h)
{
	return cursor__init(h + 1, h->size - sizeof(*h));
}

uint64_t merge_record__time(const struct file_record *rec)
{
	struct cursor c = body_of(rec->h);

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

/* struct read_format of perf_event.h */
static int add_counters(const struct merge_events *m, const struct merge_input *in, uint32_t event,
			struct cursor *c, uint64_t format, struct buf *out)
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

/* The fields behind the raw data of a marker are empty. */
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
	struct cursor c = body_of(rec->h);
	struct sample_front s = sample__front(&c, type);
	int err;

	err = buf__add(out, rec->h, sizeof(*rec->h))
		      ?: add_front(&s, type, new_type, merge_events__id(m, in, event, s.id), out);
	if (!err && type & PERF_SAMPLE_READ)
		err = add_counters(m, in, event, &c, rec->event->attr.read_format, out);
	/* an empty callchain */
	if (!err && new_type & PERF_SAMPLE_CALLCHAIN && !(type & PERF_SAMPLE_CALLCHAIN))
		err = encode__u64(out, 0);
	if (merge_events__is_marker(&rec->event->attr))
		return err ?: append_marker_rest(&c, type, new_type, out, ret_bad);
	*ret_bad = c.bad;
	return err ?: buf__add(out, c.p, cursor__left(&c));
}

static int append_other(const struct file_record *rec, uint64_t time, struct buf *out)
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
		code = append_other(rec, time, out);
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
