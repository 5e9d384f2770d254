/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes perf.data files byte by byte. */
#ifndef TESTS_UNIT_PERF_FILE_FIXTURE_H
#define TESTS_UNIT_PERF_FILE_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "perfdata/encode.h"
#include "perfdata/sample.h"

#define HEADER_SIZE 104
#define ATTR_ENTRY  144
#define ATTR_SIZE   128
#define T0	    1000000000ULL /* ns */

/* For the first attr of the file. Its records have the trailer of record.h. */
#define OUR_TYPE                                                                                   \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)

/* A file under construction: ids, attrs, records, sections. */
struct file {
	struct buf ids, attrs, records, sections[32];
	bool has[32];
	uint64_t n_attrs;
	struct buf whole; /* made by finish() */
};

static inline void add_attr(struct file *f, uint32_t type, uint64_t config, uint64_t sample_type,
			    uint64_t id)
{
	struct perf_event_attr a = {
		.type = type,
		.size = ATTR_SIZE,
		.config = config,
		.sample_type = sample_type,
		.sample_id_all = 1,
		.sample_period = 7,
	};
	uint64_t place[2] = { HEADER_SIZE + f->ids.len, 8 };

	assert_int_equal(buf__add(&f->attrs, &a, ATTR_SIZE), 0);
	assert_int_equal(buf__add(&f->attrs, place, sizeof(place)), 0);
	assert_int_equal(buf__add(&f->ids, &id, sizeof(id)), 0);
	f->n_attrs++;
}

static inline struct perf_event_attr *last_attr(struct file *f)
{
	return (void *)(f->attrs.data + f->attrs.len - ATTR_ENTRY);
}

static inline void add_record(struct file *f, uint32_t type, uint16_t misc, const void *body,
			      size_t len)
{
	const struct perf_event_header h = { type, misc, sizeof(h) + len };

	assert_int_equal(buf__add(&f->records, &h, sizeof(h)), 0);
	assert_int_equal(buf__add(&f->records, body, len), 0);
}

static inline void add_sample(struct file *f, uint64_t id, uint64_t time)
{
	const struct {
		uint64_t id, ip;
		uint32_t pid, tid;
		uint64_t time;
		uint32_t cpu, res;
		uint64_t period;
	} s = { id, 0x401234, 42, 43, time, 1, 0, 1000 };

	add_record(f, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, &s, sizeof(s));
}

static inline void add_comm(struct file *f, uint64_t time, const char *comm)
{
	struct {
		uint32_t pid, tid;
		char comm[16];
		struct record_trailer t;
	} c = { .pid = 42, .tid = 42, .t = { 42, 42, time, 1, 0, 501 } };

	strncpy(c.comm, comm, sizeof(c.comm) - 1);
	add_record(f, PERF_RECORD_COMM, 0, &c, sizeof(c));
}

static inline void add_string_section(struct file *f, unsigned int bit, const char *text)
{
	f->has[bit] = true;
	assert_int_equal(encode__string(&f->sections[bit], text), 0);
}

static inline void add_event_desc_section(struct file *f, const char *const *names)
{
	struct buf *b = &f->sections[12];
	int err;

	f->has[12] = true;
	err = encode__u32(b, f->n_attrs) ?: encode__u32(b, ATTR_SIZE);
	for (uint64_t i = 0; i < f->n_attrs; i++)
		err = err ?: buf__add(b, f->attrs.data + i * ATTR_ENTRY, ATTR_SIZE) ?:
			       encode__u32(b, 1) ?: encode__string(b, names[i]) ?:
			       buf__add(b, f->ids.data + 8 * i, 8);
	assert_int_equal(err, 0);
}

static inline void finish(struct file *f)
{
	uint64_t h[13] = { 0 }, off, n = 0;
	int err;

	memcpy(h, "PERFILE2", 8);
	h[1] = HEADER_SIZE;
	h[2] = ATTR_ENTRY;
	h[3] = HEADER_SIZE + f->ids.len;
	h[4] = f->attrs.len;
	h[5] = h[3] + h[4];
	h[6] = f->records.len;
	for (int i = 0; i < 32; i++) {
		h[9] |= (uint64_t)f->has[i] << i;
		n += f->has[i];
	}
	f->whole.len = 0;
	err = buf__add(&f->whole, h, sizeof(h)) ?: buf__add(&f->whole, f->ids.data, f->ids.len) ?:
	      buf__add(&f->whole, f->attrs.data, f->attrs.len) ?:
	      buf__add(&f->whole, f->records.data, f->records.len);
	off = f->whole.len + 16 * n;
	for (int i = 0; i < 32; i++) {
		if (!f->has[i])
			continue;
		err = err ?: encode__u64(&f->whole, off) ?:
			     encode__u64(&f->whole, f->sections[i].len);
		off += f->sections[i].len;
	}
	for (int i = 0; i < 32; i++)
		if (f->has[i])
			err = err ?: buf__add(&f->whole, f->sections[i].data, f->sections[i].len);
	assert_int_equal(err, 0);
}

static inline void file_free(struct file *f)
{
	buf__free(&f->ids);
	buf__free(&f->attrs);
	buf__free(&f->records);
	buf__free(&f->whole);
	for (int i = 0; i < 32; i++)
		buf__free(&f->sections[i]);
}

/* Two events, five records, three sections. */
static inline void make_usual(struct file *f)
{
	static const char *const names[] = { "cpu-clock", "sched:sched_switch" };

	add_attr(f, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, OUR_TYPE, 501);
	add_attr(f, PERF_TYPE_TRACEPOINT, 314, OUR_TYPE, 502);
	add_comm(f, T0, "postgres");
	add_sample(f, 501, T0 + 30);
	add_sample(f, 502, T0 + 20);
	add_comm(f, 0, "first");
	add_sample(f, 501, T0 + 20);
	add_string_section(f, 3, "host");
	add_string_section(f, 4, "6.1.0");
	add_event_desc_section(f, names);
	finish(f);
}

/*
 * Read @len bytes to the end. Returns the number of records, or negative errno with a message in
 * @err.
 */
static inline int read_all_records(const void *data, size_t len, struct err *err)
{
	int fd = memfd_create("perf.data", MFD_CLOEXEC), r, n = 0;
	struct file_record rec;
	struct perf_file *f;
	struct sample s;
	char path[64];

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	*err = (struct err){ 0 };
	r = perf_file__open(path, err, &f);
	if (!r) {
		while ((r = perf_file__next(f, err, &rec)) > 0) {
			n++;
			if (rec.h->type == PERF_RECORD_SAMPLE) {
				r = sample__decode(f, &rec, err, &s);
				if (r)
					break;
			}
		}
		perf_file__free(f);
	}
	close(fd);
	return r ? r : n;
}

/* Check that the current file is refused, and that the message contains @words. */
static inline void refused(struct file *f, const char *words)
{
	struct err err;

	finish(f);
	if (read_all_records(f->whole.data, f->whole.len, &err) != -EINVAL ||
	    !strstr(err.msg, words))
		fail_msg("'%s' instead of '%s'", err.msg, words);
}

static inline struct perf_file *open_file(struct file *f, int *fd)
{
	struct err err = { 0 };
	struct perf_file *ret;
	char path[64];

	*fd = memfd_create("perf.data", MFD_CLOEXEC);
	assert_true(*fd >= 0);
	assert_int_equal(write(*fd, f->whole.data, f->whole.len), f->whole.len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", *fd);
	if (perf_file__open(path, &err, &ret))
		fail_msg("%s", err.msg);
	return ret;
}

#endif
