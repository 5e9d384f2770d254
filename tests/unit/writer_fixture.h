/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by tests of the writer: a directory, two events, and a small dump of them. */
#ifndef TESTS_UNIT_WRITER_FIXTURE_H
#define TESTS_UNIT_WRITER_FIXTURE_H

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "perfdata/marker.h"
#include "perfdata/record.h"
#include "perfdata/writer.h"

#define T0	 100000000000ULL /* 100 s: the first record */
#define CLOCK_ID 501
#define PID	 4242

static const uint64_t clock_ids[] = { CLOCK_ID, CLOCK_ID + 1 };

struct fixture {
	char dir[64];
	int dirfd;
	struct host_info *host;
	struct perf_event_attr clock_attr;
	struct perfdata_attr attrs[2]; /* cpu-clock, frbpf:trigger */
	struct perfdata_features features;
	struct err err;
};

static inline int setup(void **state)
{
	static const char *const cmdline[] = { "/usr/bin/frbpf", "load", "rules.conf", NULL };
	static const struct perfdata_build_id build_ids[] = {
		{ { 20, { 0xab, 0xcd } }, false, "/usr/bin/frbpf-test" },
	};
	struct fixture *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	strcpy(x->dir, "/tmp/frbpf-writer-XXXXXX");
	assert_non_null(mkdtemp(x->dir));
	x->dirfd = open(x->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(x->dirfd >= 0);
	assert_int_equal(host_info__collect(&x->err, &x->host), 0);
	x->clock_attr = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(x->clock_attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000,
		.sample_type = RECORD_SAMPLE_TYPE,
		.read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST,
		.sample_id_all = 1,
		.write_backward = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	x->attrs[0] = (struct perfdata_attr){ &x->clock_attr, "cpu-clock", clock_ids, 2, NULL };
	x->attrs[1] = marker__event(MARKER_TRIGGER);
	x->features = (struct perfdata_features){
		.host = x->host,
		.cmdline = cmdline,
		.build_ids = build_ids,
		.n_build_ids = 1,
		.first_sample = T0,
		.last_sample = T0 + 5000000,
		.clock_resolution = 1,
		.realtime = 1700000000000000000ULL,
		.monotonic = T0,
	};
	*state = x;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *x = *state;
	struct dirent *e;
	DIR *d = opendir(x->dir);

	while (d && (e = readdir(d)))
		unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	assert_int_equal(rmdir(x->dir), 0);
	close(x->dirfd);
	host_info__free(x->host);
	free(x);
	return 0;
}

static inline struct perfdata_writer *create(struct fixture *x, const char *tmp)
{
	struct perfdata_writer *w = NULL;
	int r = perfdata__create(x->dirfd, tmp, x->attrs, 2, &x->err, &w);

	if (r)
		print_error("%s\n", x->err.msg);
	assert_int_equal(r, 0);
	return w;
}

/* A cpu-clock sample in user mode, as the kernel writes it for RECORD_SAMPLE_TYPE. */
static inline void add_clock_sample(struct buf *b, uint64_t id, uint64_t time)
{
	const struct {
		struct perf_event_header header;
		uint64_t id, ip;
		uint32_t pid, tid;
		uint64_t time;
		uint32_t cpu, res;
	} s = { { PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, sizeof(s) },
		id,
		0x401000,
		PID,
		PID,
		time,
		0,
		0 };

	assert_int_equal(buf__add(b, &s, sizeof(s)), 0);
}

static const struct marker_trigger trigger = {
	.rule = "runq-spike",
	.source = "runqlat > 20ms",
	.value_ns = 25334567,
	.threshold_ns = 20000000,
	.comm = "postgres",
	.pid = PID,
	.tid = PID,
	.process = "postmaster",
	.key = "fsync",
	.args = "dev=sda op=write",
};

static inline void add_trigger(struct buf *b, const struct marker_trigger *m, uint64_t time)
{
	struct buf raw = { 0 };

	assert_int_equal(marker__encode_trigger(&raw, m), 0);
	assert_int_equal((raw.len + 4) % 8, 0);
	assert_int_equal(
		record__add_sample(b, &(struct record_sample){ .id = marker__id(MARKER_TRIGGER),
							       .pid = PID,
							       .tid = PID,
							       .time = time,
							       .cpu = 0,
							       .raw = raw.data,
							       .raw_size = raw.len }),
		0);
	buf__free(&raw);
}

/* The contents of a small dump: kernel map, a process, its text, samples around the marker. */
static inline void make_dump_records(struct buf *b)
{
	static const struct marker_trigger manual = { .rule = "manual", .reason = "by hand" };
	struct record_trailer t = { .pid = PID, .tid = PID, .time = T0 - 3, .id = CLOCK_ID };
	const struct record_mmap2 text = { .header.misc = PERF_RECORD_MISC_USER,
					   .pid = PID,
					   .tid = PID,
					   .start = 0x400000,
					   .len = 0x10000,
					   .prot = 5 };
	const uint64_t kernel = 0xffffffff81000000ULL;

	assert_int_equal(record__add_mmap(b, PERF_RECORD_MISC_KERNEL, -1, 0, kernel, 0x1000000,
					  kernel, "[kernel.kallsyms]_text", &t),
			 0);
	t.time++;
	assert_int_equal(record__add_comm(b, 0, PID, PID, "postgres", &t), 0);
	t.time++;
	assert_int_equal(record__add_mmap2(b, &text, "/usr/bin/frbpf-test", &t), 0);
	add_clock_sample(b, CLOCK_ID, T0);
	add_clock_sample(b, CLOCK_ID + 1, T0 + 1000000);
	add_trigger(b, &trigger, T0 + 2000000);
	add_clock_sample(b, CLOCK_ID, T0 + 3000000);
	add_trigger(b, &manual, T0 + 5000000);
}

static inline void write_records(struct fixture *x, struct perfdata_writer *w, const struct buf *b)
{
	const struct perf_event_header *h;
	size_t off = 0;

	while ((h = record__next(b, &off)))
		assert_int_equal(perfdata__write(w, h, &x->err), 0);
}

/* Write a whole dump as @name; returns its records, as passed to the writer. */
static inline struct buf write_dump(struct fixture *x, const char *name)
{
	struct perfdata_writer *w = create(x, "x.tmp");
	struct buf records = { 0 };
	struct stat st;
	uint64_t size = 0;

	make_dump_records(&records);
	write_records(x, w, &records);
	assert_int_equal(perfdata__finish(w, &x->features, &x->err), 0);
	assert_int_equal(perfdata__publish(w, name, &size, &x->err), 0);
	perfdata__free(w);
	assert_int_equal(fstatat(x->dirfd, name, &st, 0), 0);
	assert_int_equal(st.st_size, size);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	return records;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
