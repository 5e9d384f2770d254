// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "perfdata/file_layout.h"
#include "perfdata/header_bits.h"
#include "perfdata/marker_file.h"
#include "perfdata/record.h"

#define ATTRS_MAX 65536

struct search {
	int fd;
	uint64_t size; /* bytes of the file */
	struct file_header head;
	uint64_t fields; /* of the marker, see struct record_sample */
	uint64_t realtime_offset;
	marker_found_fn fn;
	void *arg;
};

static int read_at(const struct search *s, uint64_t at, void *to, size_t len)
{
	ssize_t n;

	if (at > s->size || len > s->size - at)
		return -EBADMSG;
	n = pread(s->fd, to, len, at);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EBADMSG;
}

static bool section_fits(const struct search *s, const struct file_section *sec)
{
	return sec->offset <= s->size && sec->size <= s->size - sec->offset;
}

static int read_head(struct search *s)
{
	int err = read_at(s, 0, &s->head, sizeof(s->head));

	if (err)
		return err;
	if (memcmp(s->head.magic, FILE_MAGIC, sizeof(s->head.magic)) != 0 ||
	    s->head.size != sizeof(s->head) ||
	    s->head.attr_size != sizeof(struct file_attr_entry) ||
	    !section_fits(s, &s->head.attrs) || !section_fits(s, &s->head.data))
		return -EBADMSG;
	return 0;
}

/* -EBADMSG: the file has no such event. */
static int find_attr(struct search *s)
{
	const struct perf_event_attr *ours = marker__attr(MARKER_TRIGGER);
	uint64_t n = s->head.attrs.size / sizeof(struct file_attr_entry);
	struct file_attr_entry e;
	struct perf_event_attr a;
	int err = 0;

	for (uint64_t i = 0; !err && i < n && i < ATTRS_MAX; i++) {
		err = read_at(s, s->head.attrs.offset + i * sizeof(e), &e, sizeof(e));
		if (err)
			return err;
		memcpy(&a, e.attr, sizeof(e.attr));
		if (a.type != ours->type || a.config != ours->config)
			continue;
		s->fields = a.sample_type & (PERF_SAMPLE_CALLCHAIN | RECORD_EMPTY_FIELDS);
		if ((a.sample_type & ~s->fields) != ours->sample_type)
			return -EBADMSG;
		return 0;
	}
	return -EBADMSG;
}

/* Without CLOCK_DATA in the file, realtime_offset stays 0. */
static void find_clock(struct search *s)
{
	struct {
		uint32_t version, clockid;
		uint64_t realtime, monotonic;
	} clock;
	uint64_t at = s->head.data.offset + s->head.data.size;
	uint64_t bits = s->head.features[0], before = bits & ((1ULL << HEADER_CLOCK_DATA) - 1);
	struct file_section sec;

	if (!(bits & 1ULL << HEADER_CLOCK_DATA))
		return;
	at += __builtin_popcountll(before) * sizeof(sec);
	if (read_at(s, at, &sec, sizeof(sec)) || sec.size < sizeof(clock) ||
	    read_at(s, sec.offset, &clock, sizeof(clock)) || clock.clockid != CLOCK_MONOTONIC)
		return;
	s->realtime_offset = clock.realtime - clock.monotonic;
}

static int take_sample(const struct search *s, const struct perf_event_header *h)
{
	struct marker_found found = { .realtime_offset = s->realtime_offset,
				      .time = record__time(h) };
	struct marker_texts texts;
	uint32_t len;
	const void *raw = record__sample_raw(h, s->fields, &len, &found.cpu);

	if (!raw || marker__decode_trigger(raw, len, &texts, &found.text))
		return 0;
	return s->fn(&found, s->arg);
}

static int walk_records(const struct search *s)
{
	static const size_t least = sizeof(struct perf_event_header);
	uint64_t at = s->head.data.offset, end = at + s->head.data.size;
	_Alignas(8) char rec[UINT16_MAX + 1];
	struct perf_event_header *h = (void *)rec;
	int err = 0;

	for (; !err && at < end; at += h->size) {
		if (end - at < least)
			return -EBADMSG;
		err = read_at(s, at, rec, least);
		if (err)
			return err;
		if (h->size < least || h->size > end - at)
			return -EBADMSG;
		if (h->type != PERF_RECORD_SAMPLE)
			continue;
		err = read_at(s, at, rec, h->size);
		if (!err && record__valid(h, h->size) &&
		    record__id(h) == marker__id(MARKER_TRIGGER))
			err = take_sample(s, h);
	}
	return err;
}

int marker_file__triggers(int fd, marker_found_fn fn, void *arg)
{
	struct search s = { .fd = fd, .fn = fn, .arg = arg };
	struct stat st;
	int err;

	if (fstat(fd, &st) < 0)
		return -errno;
	s.size = st.st_size;
	err = read_head(&s);
	err = err ?: find_attr(&s);
	if (err)
		return err;
	find_clock(&s);
	return walk_records(&s);
}
