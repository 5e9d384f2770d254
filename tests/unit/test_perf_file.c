// SPDX-License-Identifier: GPL-2.0-only
/* The reader of perf.data: files made here byte by byte, whole and broken in every way that their
 * layout allows. tests/e2e/diff.bats has files of perf. */
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
#include "reader/sample.h"

#define HEADER_SIZE 104
#define ATTR_ENTRY  144
#define ATTR_SIZE   128
#define T0	    1000000000ULL /* ns */

/* As the first of the file's attrs; the trailer is that of record.h. */
#define OUR_TYPE                                                                                   \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)

/* A file in the making: ids, attrs, records, sections. */
struct file {
	struct buf ids, attrs, records, sections[32];
	bool has[32];
	uint64_t n_attrs;
	struct buf whole; /* made by finish() */
};

static void add_attr(struct file *f, uint32_t type, uint64_t config, uint64_t sample_type,
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

static struct perf_event_attr *last_attr(struct file *f)
{
	return (void *)(f->attrs.data + f->attrs.len - ATTR_ENTRY);
}

static void add_record(struct file *f, uint32_t type, uint16_t misc, const void *body, size_t len)
{
	const struct perf_event_header h = { type, misc, sizeof(h) + len };

	assert_int_equal(buf__add(&f->records, &h, sizeof(h)), 0);
	assert_int_equal(buf__add(&f->records, body, len), 0);
}

static void add_sample(struct file *f, uint64_t id, uint64_t time)
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

static void add_comm(struct file *f, uint64_t time, const char *comm)
{
	struct {
		uint32_t pid, tid;
		char comm[16];
		struct record_trailer t;
	} c = { .pid = 42, .tid = 42, .t = { 42, 42, time, 1, 0, 501 } };

	strncpy(c.comm, comm, sizeof(c.comm) - 1);
	add_record(f, PERF_RECORD_COMM, 0, &c, sizeof(c));
}

static void add_string_section(struct file *f, unsigned int bit, const char *text)
{
	f->has[bit] = true;
	assert_int_equal(encode__string(&f->sections[bit], text), 0);
}

static void add_event_desc(struct file *f, const char *const *names)
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

static void finish(struct file *f)
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

static void file_free(struct file *f)
{
	buf__free(&f->ids);
	buf__free(&f->attrs);
	buf__free(&f->records);
	buf__free(&f->whole);
	for (int i = 0; i < 32; i++)
		buf__free(&f->sections[i]);
}

/* Two events, five records, three sections. */
static void make_usual(struct file *f)
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
	add_event_desc(f, names);
	finish(f);
}

/* Read @len bytes to the end: the number of records, or negative errno; @err has the words. */
static int read_all(const void *data, size_t len, struct err *err)
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

static struct perf_file *open_file(struct file *f, int *fd)
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

static void test_reads(void **state)
{
	struct file f = { 0 };
	const struct file_info *info;
	struct file_record rec;
	struct err err = { 0 };
	struct perf_file *p;
	struct sample s;
	int fd;

	make_usual(&f);
	p = open_file(&f, &fd);
	info = perf_file__info(p);
	assert_string_equal(info->hostname, "host");
	assert_string_equal(info->osrelease, "6.1.0");
	assert_null(info->cmdline);
	assert_int_equal(info->n_events, 2);
	assert_string_equal(info->events[1].name, "sched:sched_switch");

	/* time 0 first, then by time, equal times as they stand */
	assert_int_equal(perf_file__next(p, &err, &rec), 1);
	assert_string_equal(((const struct record_comm *)rec.h)->comm, "first");
	assert_int_equal(perf_file__next(p, &err, &rec), 1);
	assert_string_equal(((const struct record_comm *)rec.h)->comm, "postgres");
	assert_int_equal(record__time(rec.h), T0);
	assert_int_equal(perf_file__next(p, &err, &rec), 1);
	assert_int_equal(sample__decode(p, &rec, &err, &s), 0);
	assert_ptr_equal(s.event, &info->events[1]);
	assert_int_equal(s.ip, 0x401234);
	assert_int_equal(s.pid, 42);
	assert_int_equal(s.tid, 43);
	assert_int_equal(s.time, T0 + 20);
	assert_int_equal(s.cpu, 1);
	assert_int_equal(s.period, 1000);
	assert_int_equal(s.cpumode, PERF_RECORD_MISC_USER);
	assert_int_equal(perf_file__next(p, &err, &rec), 1);
	assert_ptr_equal(rec.event, &info->events[0]);
	assert_int_equal(perf_file__next(p, &err, &rec), 1);
	assert_int_equal(sample__decode(p, &rec, &err, &s), 0);
	assert_int_equal(s.time, T0 + 30);
	assert_int_equal(perf_file__next(p, &err, &rec), 0);
	assert_int_equal(perf_file__next(p, &err, &rec), 0);
	perf_file__free(p);
	close(fd);
	file_free(&f);
}

static void test_names_without_event_desc(void **state)
{
	struct file f = { 0 };
	struct perf_file *p;
	int fd;

	add_attr(&f, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, OUR_TYPE, 501);
	finish(&f);
	p = open_file(&f, &fd);
	assert_string_equal(perf_file__info(p)->events[0].name, "1:0");
	perf_file__free(p);
	close(fd);
	file_free(&f);
}

/* A file that ends anywhere before its end is refused, and the message says where. */
static void test_cut_everywhere(void **state)
{
	struct file f = { 0 };
	struct err err;

	make_usual(&f);
	assert_int_equal(read_all(f.whole.data, f.whole.len, &err), 5);
	for (size_t len = 0; len < f.whole.len; len++) {
		int r = read_all(f.whole.data, len, &err);

		if (r != -EINVAL || (!strstr(err.msg, "offset") && len >= 16))
			fail_msg("cut at %zu: %d '%s'", len, r, err.msg);
	}
	file_free(&f);
}

/* The records end within one, as the header says: at every byte that is no border. */
static void test_records_cut(void **state)
{
	struct file f = { 0 };
	struct err err;
	size_t border = 0, full;

	make_usual(&f);
	full = f.records.len;
	memset(f.has, 0, sizeof(f.has)); /* their table moves with the end */
	for (size_t len = 1; len < full; len++) {
		const struct perf_event_header *h = (void *)(f.records.data + border);
		int r;

		f.records.len = len;
		finish(&f);
		r = read_all(f.whole.data, f.whole.len, &err);
		f.records.len = full;
		if (len == border + h->size) {
			border = len;
			assert_true(r > 0);
			continue;
		}
		assert_int_equal(r, -EINVAL);
		assert_non_null(strstr(err.msg, "offset"));
	}
	file_free(&f);
}

/* Every size that a record can claim: it ends, it does not crash, and it never reads beyond. */
static void test_record_sizes(void **state)
{
	struct file f = { 0 };
	struct perf_event_header *h;
	struct err err;
	size_t at;

	make_usual(&f);
	for (at = 0; at < f.records.len; at += h->size) {
		uint16_t size;

		h = (void *)(f.records.data + at);
		size = h->size;
		for (unsigned int s = 0; s <= UINT16_MAX; s += s < 256 ? 1 : 251) {
			int r;

			h->size = s;
			finish(&f);
			r = read_all(f.whole.data, f.whole.len, &err);
			h->size = size;
			if (s < 8 || s > f.records.len - at) {
				assert_int_equal(r, -EINVAL);
				assert_non_null(strstr(err.msg, "offset"));
			}
		}
	}
	file_free(&f);
}

/* Any one byte of the file changed to any of some values. */
static void test_bytes(void **state)
{
	static const unsigned char values[] = { 0, 1, 0x7f, 0x80, 0xff };
	struct file f = { 0 };
	struct err err;

	make_usual(&f);
	for (size_t at = 0; at < f.whole.len; at++) {
		unsigned char was = f.whole.data[at];

		for (size_t i = 0; i < sizeof(values); i++) {
			int r;

			f.whole.data[at] = values[i];
			r = read_all(f.whole.data, f.whole.len, &err);
			assert_true(r >= 0 || err.msg[0]);
		}
		f.whole.data[at] = was;
	}
	file_free(&f);
}

static void test_header(void **state)
{
	static const struct {
		size_t at;
		const char *bytes; /* 8 */
		const char *words;
	} cases[] = {
		{ 0, "2ELIFREP", "other byte order" },
		{ 0, "PERFFILE", "before 2010" },
		{ 0, "\x7f" "ELF\2\1\1\0", "not a perf.data file" },
		{ 8, "\x10\0\0\0\0\0\0\0", "pipe mode" },
		{ 8, "\x69\0\0\0\0\0\0\0", "offset 8: its size is not 104" },
		{ 16, "\0\0\0\0\0\0\0\0", "offset 16" },
		{ 16, "\x98\0\0\0\0\0\0\0", "offset 32" },
		{ 16, "\xff\xff\xff\xff\xff\xff\xff\xff", "offset 16" },
		{ 24, "\xff\xff\xff\xff\xff\xff\xff\xff", "offset 24" },
		{ 32, "\0\0\0\0\0\0\0\0", "offset 32" },
		{ 32, "\xff\xff\xff\xff\xff\xff\xff\xff", "offset 24" },
		{ 40, "\xff\xff\xff\xff\xff\xff\xff\xff", "offset 40" },
		{ 48, "\xff\xff\xff\xff\xff\xff\xff\x7f", "offset 40" },
		{ 48, "\0\0\0\0\0\0\0\0", "offset 48 that there are no records" },
		{ 72, "\0\0\0\x08\0\0\0\0", "-z" },
		{ 72, "\0\0\0\x01\0\0\0\0", "--threads" },
	};
	struct file f = { 0 };
	struct err err;

	make_usual(&f);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char was[8];

		memcpy(was, f.whole.data + cases[i].at, 8);
		memcpy(f.whole.data + cases[i].at, cases[i].bytes, 8);
		if (read_all(f.whole.data, f.whole.len, &err) != -EINVAL ||
		    !strstr(err.msg, cases[i].words))
			fail_msg("case %zu: '%s'", i, err.msg);
		memcpy(f.whole.data + cases[i].at, was, 8);
	}
	file_free(&f);
}

static void test_attrs(void **state)
{
	struct file f = { 0 };
	struct err err;

	make_usual(&f);
	((struct perf_event_attr *)f.attrs.data)->size = 136;
	finish(&f);
	assert_int_equal(read_all(f.whole.data, f.whole.len, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "another size"));
	((struct perf_event_attr *)f.attrs.data)->size = ATTR_SIZE;

	last_attr(&f)->sample_type &= ~PERF_SAMPLE_IDENTIFIER;
	finish(&f);
	assert_int_equal(read_all(f.whole.data, f.whole.len, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "another place"));
	file_free(&f);
}

static void test_ids_out_of_file(void **state)
{
	struct file f = { 0 };
	struct err err;
	uint64_t *place;

	make_usual(&f);
	place = (void *)(f.attrs.data + ATTR_SIZE);
	place[0] = UINT64_MAX - 7;
	finish(&f);
	assert_int_equal(read_all(f.whole.data, f.whole.len, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "the ids of this attr are not in the file"));
	file_free(&f);
}

static void test_unknown_id(void **state)
{
	struct file f = { 0 };
	struct err err;

	make_usual(&f);
	add_sample(&f, 999, T0);
	finish(&f);
	assert_int_equal(read_all(f.whole.data, f.whole.len, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "its id is not that of any event"));
	file_free(&f);
}

/* Types of other versions are passed over; AUXTRACE with the data behind it. */
static void test_other_types(void **state)
{
	struct file f = { 0 };
	uint64_t aux[6] = { 24 }, data[3] = { 0 };
	struct err err;

	make_usual(&f);
	add_record(&f, 40, 0, data, sizeof(data));
	add_record(&f, 68, 0, NULL, 0);
	add_record(&f, 900, 0, data, sizeof(data));
	add_record(&f, 71, 0, aux, sizeof(aux));
	assert_int_equal(buf__add(&f.records, data, sizeof(data)), 0);
	add_sample(&f, 501, T0);
	finish(&f);
	assert_int_equal(read_all(f.whole.data, f.whole.len, &err), 6);
	aux[0] = UINT64_MAX - 8;
	add_record(&f, 71, 0, aux, sizeof(aux));
	finish(&f);
	assert_int_equal(read_all(f.whole.data, f.whole.len, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "data reach past"));
	f.records.len -= 8 + sizeof(aux);
	add_record(&f, 81, 0, data, sizeof(data));
	finish(&f);
	assert_int_equal(read_all(f.whole.data, f.whole.len, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "compressed"));
	file_free(&f);
}

/* What perf record writes for two events of one type: ID, not IDENTIFIER; STREAM_ID beside it. */
static void test_trailer_of_perf(void **state)
{
	const uint64_t type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
			      PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU;
	const struct {
		uint32_t pid, tid;
		char comm[8];
		uint32_t t_pid, t_tid;
		uint64_t time, id, stream_id;
		uint32_t cpu, res;
	} comm = { 7, 8, "sh", 7, 8, T0 + 5, 602, 77, 3, 0 };
	const struct {
		uint64_t ip;
		uint32_t pid, tid;
		uint64_t time, id, stream_id;
		uint32_t cpu, res;
	} sample = { 0x1000, 7, 8, T0 + 9, 602, 77, 3, 0 };
	struct file f = { 0 };
	struct file_record rec;
	struct err err = { 0 };
	struct perf_file *p;
	struct sample s;
	int fd;

	add_attr(&f, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, type, 601);
	add_attr(&f, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, type, 602);
	add_record(&f, PERF_RECORD_COMM, 0, &comm, sizeof(comm));
	add_record(&f, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, &sample, sizeof(sample));
	finish(&f);
	p = open_file(&f, &fd);
	assert_int_equal(perf_file__next(p, &err, &rec), 1);
	assert_ptr_equal(rec.event, &perf_file__info(p)->events[1]);
	assert_true(record__valid(rec.h, rec.h->size));
	assert_int_equal(record__time(rec.h), T0 + 5);
	assert_int_equal(record__tid(rec.h), 8);
	assert_string_equal(((const struct record_comm *)rec.h)->comm, "sh");
	assert_int_equal(perf_file__next(p, &err, &rec), 1);
	assert_int_equal(sample__decode(p, &rec, &err, &s), 0);
	assert_int_equal(s.cpu, 3);
	assert_int_equal(s.period, 7); /* the attr's: the sample has none */
	assert_int_equal(s.time, T0 + 9);
	perf_file__free(p);
	close(fd);
	file_free(&f);
}

/* Every field that a sample can have, as words of which each names its place. */
static const uint64_t full_sample[] = {
	501, 0x1000, 42ULL << 32 | 41, T0, 0xadd2, 501, 502, 2, 99, /* identifier .. period */
	2, 11, 12, 21, 22, 31, 32,					/* READ: a group of two */
	3, (uint64_t)PERF_CONTEXT_KERNEL, 0x81, 0x82,			/* callchain */
	0x1122334400000004, /* RAW: size 4, four bytes */
	1, 0, 0x91, 0x92, 0x93, /* branch stack with its index */
	2, 0x51, 0x52,		/* user registers */
	16, 0x61, 0x62, 8,	/* user stack */
	70, 71, 72,		/* weight, data source, transaction */
	0,			/* no registers of the interrupt */
	80, 81, 82, 83,		/* physical address, cgroup, page sizes */
	8, 0x95,		/* AUX */
};

static void add_full_attr(struct file *f)
{
	struct perf_event_attr *a;

	add_attr(f, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK,
		 (1ULL << 24) - 1, 501);
	a = last_attr(f);
	a->sample_type |= PERF_SAMPLE_IDENTIFIER;
	a->read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED |
			 PERF_FORMAT_TOTAL_TIME_RUNNING;
	a->branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX;
	a->sample_regs_user = 0x3;
	a->sample_regs_intr = 0xff;
}

static void test_sample_fields(void **state)
{
	struct file f = { 0 };
	struct file_record rec;
	struct err err = { 0 };
	struct perf_file *p;
	struct sample s;
	int fd;

	add_full_attr(&f);
	add_record(&f, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, full_sample,
		   sizeof(full_sample));
	finish(&f);
	p = open_file(&f, &fd);
	if (perf_file__next(p, &err, &rec) != 1 || sample__decode(p, &rec, &err, &s))
		fail_msg("%s", err.msg);
	assert_int_equal(s.addr, 0xadd2);
	assert_int_equal(s.period, 99);
	assert_int_equal(s.n_ips, 3);
	assert_int_equal(s.ips[2], 0x82);
	assert_int_equal(s.raw_size, 4);
	assert_memory_equal(s.raw, "\x44\x33\x22\x11", 4);
	perf_file__free(p);
	close(fd);
	file_free(&f);
}

/* Shortened by a word each, and with every word turned into a huge count. */
static void test_sample_lengths(void **state)
{
	const size_t n = sizeof(full_sample) / sizeof(full_sample[0]);
	uint64_t words[sizeof(full_sample) / sizeof(full_sample[0])];
	struct file f = { 0 };
	struct err err;

	add_full_attr(&f);
	for (size_t i = 0; i < n; i++) {
		f.records.len = 0;
		add_record(&f, PERF_RECORD_SAMPLE, 0, full_sample, 8 * i);
		finish(&f);
		assert_int_equal(read_all(f.whole.data, f.whole.len, &err), -EINVAL);
		assert_non_null(strstr(err.msg, "offset"));
		for (int shift = 0; shift < 64; shift += 3) {
			memcpy(words, full_sample, sizeof(words));
			words[i] = UINT64_MAX >> shift;
			f.records.len = 0;
			add_record(&f, PERF_RECORD_SAMPLE, 0, words, sizeof(words));
			finish(&f);
			read_all(f.whole.data, f.whole.len, &err);
		}
	}
	file_free(&f);
}

static void test_not_regular(void **state)
{
	char dir[] = "/tmp/frbpf-reader-XXXXXX", path[64];
	struct err err = { 0 };
	struct perf_file *p;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(perf_file__open(dir, &err, &p), -EINVAL);
	assert_non_null(strstr(err.msg, "not a regular file"));
	snprintf(path, sizeof(path), "%s/fifo", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(perf_file__open(path, &err, &p), -EINVAL);
	unlink(path);
	assert_int_equal(perf_file__open(path, &err, &p), -ENOENT);
	rmdir(dir);
}

/* Somebody cuts the file between the walk and the reading. */
static void test_cut_while_read(void **state)
{
	struct file f = { 0 };
	struct file_record rec;
	struct err err = { 0 };
	struct perf_file *p;
	int fd, r;

	add_attr(&f, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, OUR_TYPE, 501);
	/* far more than the reader keeps in memory */
	for (int i = 0; i < 1500000; i++)
		add_sample(&f, 501, T0 + i);
	finish(&f);
	p = open_file(&f, &fd);
	assert_int_equal(perf_file__next(p, &err, &rec), 1);
	assert_int_equal(ftruncate(fd, 65536), 0);
	while ((r = perf_file__next(p, &err, &rec)) > 0)
		;
	assert_int_equal(r, -EINVAL);
	assert_non_null(strstr(err.msg, "it was cut at offset"));
	perf_file__free(p);
	close(fd);
	file_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads),
		cmocka_unit_test(test_names_without_event_desc),
		cmocka_unit_test(test_cut_everywhere),
		cmocka_unit_test(test_records_cut),
		cmocka_unit_test(test_record_sizes),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_attrs),
		cmocka_unit_test(test_ids_out_of_file),
		cmocka_unit_test(test_unknown_id),
		cmocka_unit_test(test_other_types),
		cmocka_unit_test(test_trailer_of_perf),
		cmocka_unit_test(test_sample_fields),
		cmocka_unit_test(test_sample_lengths),
		cmocka_unit_test(test_not_regular),
		cmocka_unit_test(test_cut_while_read),
	};

	return cmocka_run_group_tests_name("perf_file", tests, NULL, NULL);
}
