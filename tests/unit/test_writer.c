// SPDX-License-Identifier: GPL-2.0-only
/* Files of the writer, byte by byte, and as perf reads them (skipped where there is no perf). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "perfdata/header_bits.h"
#include "perfdata/marker.h"
#include "perfdata/record.h"
#include "perfdata/writer.h"

#define T0	 100000000000ULL /* 100 s: the first record */
#define CLOCK_ID 501
#define PID	 4242

static const uint64_t clock_ids[] = { CLOCK_ID, CLOCK_ID + 1 };

/* Stands before libc's, so that a file system without RENAME_NOREPLACE can be had anywhere. */
static bool no_noreplace;

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned int flags)
{
	if (no_noreplace && flags) {
		errno = EINVAL;
		return -1;
	}
	return syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

struct fixture {
	char dir[64];
	int dirfd;
	struct host_info *host;
	struct perf_event_attr clock_attr;
	struct perfdata_attr attrs[2]; /* cpu-clock, frbpf:trigger */
	struct perfdata_features features;
	struct err err;
};

static int setup(void **state)
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

static int teardown(void **state)
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

static int count_files(const struct fixture *x)
{
	struct dirent *e;
	DIR *d = opendir(x->dir);
	int n = 0;

	assert_non_null(d);
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static struct perfdata_writer *create(struct fixture *x, const char *tmp)
{
	struct perfdata_writer *w = NULL;
	int r = perfdata__create(x->dirfd, tmp, x->attrs, 2, &x->err, &w);

	if (r)
		print_error("%s\n", x->err.msg);
	assert_int_equal(r, 0);
	return w;
}

/* A cpu-clock sample in user mode, as the kernel writes it for RECORD_SAMPLE_TYPE. */
static void add_clock_sample(struct buf *b, uint64_t id, uint64_t time)
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

static void add_trigger(struct buf *b, const struct marker_trigger *m, uint64_t time)
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

/* What a small dump holds: kernel map, a process, its text, samples around the marker. */
static void make_records(struct buf *b)
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

static void write_all(struct fixture *x, struct perfdata_writer *w, const struct buf *b)
{
	size_t off;

	for (off = 0; off < b->len;) {
		const struct perf_event_header *h = (const void *)(b->data + off);

		assert_int_equal(perfdata__write(w, h, &x->err), 0);
		off += h->size;
	}
}

/* A whole dump under @name; returns its records, as they were given to the writer. */
static struct buf write_dump(struct fixture *x, const char *name)
{
	struct perfdata_writer *w = create(x, "x.tmp");
	struct buf records = { 0 };
	struct stat st;
	uint64_t size = 0;

	make_records(&records);
	write_all(x, w, &records);
	assert_int_equal(perfdata__finish(w, &x->features, &x->err), 0);
	assert_int_equal(perfdata__publish(w, name, &size, &x->err), 0);
	perfdata__free(w);
	assert_int_equal(fstatat(x->dirfd, name, &st, 0), 0);
	assert_int_equal(st.st_size, size);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	return records;
}

static uint64_t u64_at(const struct buf *b, size_t off)
{
	uint64_t v;

	assert_true(off + sizeof(v) <= b->len);
	memcpy(&v, b->data + off, sizeof(v));
	return v;
}

static uint32_t u32_at(const struct buf *b, size_t off)
{
	return u64_at(b, off);
}

static void test_layout(void **state)
{
	struct fixture *x = *state;
	struct buf records = write_dump(x, "perf.data.1"), file = { 0 };
	const size_t ids = 104, attrs = ids + 3 * 8, data = attrs + 2 * 144;
	size_t table = data + records.len, at, n = 0;
	char path[128];
	unsigned int bit;

	assert_int_equal(count_files(x), 1);
	snprintf(path, sizeof(path), "%s/perf.data.1", x->dir);
	assert_int_equal(buf__read_file(&file, path, 1 << 24), 0);
	assert_memory_equal(file.data, "PERFILE2", 8);
	assert_int_equal(u64_at(&file, 8), 104);
	assert_int_equal(u64_at(&file, 16), 144);
	assert_int_equal(u64_at(&file, 24), attrs);
	assert_int_equal(u64_at(&file, 32), 2 * 144);
	assert_int_equal(u64_at(&file, 40), data);
	assert_int_equal(u64_at(&file, 48), records.len);
	assert_int_equal(u64_at(&file, 56) | u64_at(&file, 64), 0); /* event_types */
	assert_int_equal(u64_at(&file, 80) | u64_at(&file, 88) | u64_at(&file, 96), 0);
	assert_int_equal(u64_at(&file, ids), CLOCK_ID);
	assert_int_equal(u64_at(&file, ids + 8), CLOCK_ID + 1);
	assert_int_equal(u64_at(&file, ids + 16), marker__id(MARKER_TRIGGER));
	for (at = attrs; at < data; at += 144)
		assert_int_equal(u32_at(&file, at + 4), 128); /* attr.size */
	assert_int_equal(u64_at(&file, attrs + 128), ids);
	assert_int_equal(u64_at(&file, attrs + 136), 16);
	assert_int_equal(u32_at(&file, attrs + 144), PERF_TYPE_TRACEPOINT);
	assert_int_equal(u64_at(&file, attrs + 144 + 8), 65534);
	assert_int_equal(u64_at(&file, attrs + 144 + 128), ids + 16);
	assert_int_equal(u64_at(&file, attrs + 144 + 136), 8);
	assert_memory_equal(file.data + data, records.data, records.len);
	for (bit = 0; bit < 64; bit++)
		n += u64_at(&file, 72) >> bit & 1;
	for (at = table + 16 * n, bit = 0; bit < n;
	     bit++) { /* back to back, to the end of the file */
		assert_int_equal(u64_at(&file, table + 16 * bit), at);
		at += u64_at(&file, table + 16 * bit + 8);
	}
	assert_int_equal(at, file.len);
	buf__free(&file);
	buf__free(&records);
}

static void test_feature_bits(void **state)
{
	static const unsigned int always[] = { 1,  2,  3,  4,  5,  6,  7,  8,
					       11, 12, 21, 23, 25, 26, 29, 31 };
	static const unsigned int never[] = { 0, 15, 18, 19, 24, 27 };
	struct fixture *x = *state;
	struct buf records = write_dump(x, "perf.data"), file = { 0 };
	char path[128];
	size_t i;

	snprintf(path, sizeof(path), "%s/perf.data", x->dir);
	assert_int_equal(buf__read_file(&file, path, 1 << 24), 0);
	for (i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		assert_true(u64_at(&file, 72) >> always[i] & 1);
	for (i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		assert_false(u64_at(&file, 72) >> never[i] & 1);
	buf__free(&file);
	buf__free(&records);
}

static void test_publish_does_not_replace(void **state)
{
	struct fixture *x = *state;
	struct buf records = write_dump(x, "perf.data");
	struct perfdata_writer *w = create(x, "y.tmp");
	uint64_t size = 7;

	write_all(x, w, &records);
	assert_int_equal(perfdata__publish(w, "early", &size, &x->err), -EINVAL);
	assert_int_equal(perfdata__finish(w, &x->features, &x->err), 0);
	assert_int_equal(perfdata__finish(w, &x->features, &x->err), -EINVAL);
	assert_int_equal(perfdata__publish(w, "perf.data", &size, &x->err), -EEXIST);
	assert_non_null(strstr(x->err.msg, "perf.data"));
	assert_int_equal(size, 7);
	assert_int_equal(perfdata__publish(w, "perf.data.2", &size, &x->err), 0);
	perfdata__free(w);
	assert_int_equal(count_files(x), 2);
	buf__free(&records);
}

static void test_publish_by_link(void **state)
{
	no_noreplace = true;
	test_publish_does_not_replace(state);
	no_noreplace = false;
}

/* The path of a uprobe is a pointer into the process that opened it. */
static void test_user_pointers(void **state)
{
	struct fixture *x = *state;
	struct perf_event_attr uprobe = x->clock_attr;
	const struct perfdata_attr attr = { &uprobe, "uprobe", clock_ids, 2, NULL };
	const size_t at = 104 + 2 * 8;
	struct perfdata_writer *w;
	struct buf type = { 0 }, file = { 0 };
	uint64_t size;
	char path[128];

	if (buf__read_file(&type, "/sys/bus/event_source/devices/uprobe/type", 64)) {
		print_message("no uprobe PMU: skipped\n");
		skip();
	}
	uprobe.type = atoi(type.data);
	uprobe.config1 = (uintptr_t)path;
	uprobe.config2 = 0x1234;
	assert_int_equal(perfdata__create(x->dirfd, "t", &attr, 1, &x->err, &w), 0);
	assert_int_equal(perfdata__finish(w, &x->features, &x->err), 0);
	assert_int_equal(perfdata__publish(w, "perf.data", &size, &x->err), 0);
	perfdata__free(w);
	snprintf(path, sizeof(path), "%s/perf.data", x->dir);
	assert_int_equal(buf__read_file(&file, path, 1 << 24), 0);
	assert_int_equal(u32_at(&file, at), uprobe.type);
	assert_int_equal(u64_at(&file, at + 56), 0);
	assert_int_equal(u64_at(&file, at + 64), 0);
	assert_null(memmem(file.data, file.len, &uprobe.config1, 8)); /* nor in EVENT_DESC */
	buf__free(&type);
	buf__free(&file);
}

static void test_create_does_not_replace(void **state)
{
	struct fixture *x = *state;
	struct perfdata_writer *w = create(x, "x.tmp"), *second = NULL;

	assert_int_equal(perfdata__create(x->dirfd, "x.tmp", x->attrs, 2, &x->err, &second),
			 -EEXIST);
	assert_null(second);
	assert_int_equal(count_files(x), 1); /* the first one's */
	perfdata__free(w);
	assert_int_equal(count_files(x), 0);
	assert_int_equal(symlinkat("/nowhere", x->dirfd, "x.tmp"), 0);
	assert_int_equal(perfdata__create(x->dirfd, "x.tmp", x->attrs, 2, &x->err, &second),
			 -EEXIST);
}

static void test_nothing_left(void **state)
{
	struct fixture *x = *state;
	struct perfdata_writer *w = create(x, "x.tmp");

	perfdata__free(w);
	assert_int_equal(count_files(x), 0);
	w = create(x, "x.tmp");
	assert_int_equal(perfdata__finish(w, &x->features, &x->err), 0); /* no record, no sample */
	perfdata__free(w);
	assert_int_equal(count_files(x), 0);
	perfdata__free(NULL);
}

static void test_refused_records(void **state)
{
	struct fixture *x = *state;
	struct perfdata_writer *w = create(x, "x.tmp");
	struct record_trailer t = { .time = T0, .id = 999 };
	struct buf b = { 0 };
	struct perf_event_header *h;

	add_clock_sample(&b, 999, T0);
	h = (void *)b.data;
	assert_int_equal(perfdata__write(w, h, &x->err), -EINVAL);
	assert_non_null(strstr(x->err.msg, "999"));
	buf__free(&b);
	add_clock_sample(&b, 0, T0);
	assert_int_equal(perfdata__write(w, (void *)b.data, &x->err), -EINVAL);
	buf__free(&b);
	assert_int_equal(record__add_comm(&b, 0, 1, 1, "x", &t), 0);
	h = (void *)b.data;
	assert_int_equal(perfdata__write(w, h, &x->err), -EINVAL);
	((struct record_trailer *)(b.data + b.len))[-1].id = 0; /* attr 0: legal */
	assert_int_equal(perfdata__write(w, h, &x->err), 0);
	h->type = 68; /* FINISHED_ROUND */
	assert_int_equal(perfdata__write(w, h, &x->err), -EINVAL);
	h->type = PERF_RECORD_COMM;
	h->size = 0;
	assert_int_equal(perfdata__write(w, h, &x->err), -EINVAL);
	assert_int_equal(perfdata__finish(w, &x->features, &x->err), 0); /* refusals do no harm */
	perfdata__free(w);
	buf__free(&b);
}

static void test_refused_attrs(void **state)
{
	struct fixture *x = *state;
	struct perfdata_writer *w = NULL;
	struct perfdata_attr attrs[2];
	struct perf_event_attr a = x->clock_attr;

	memcpy(attrs, x->attrs, sizeof(attrs));
	attrs[1].format = NULL;
	assert_int_equal(perfdata__create(x->dirfd, "t", attrs, 2, &x->err, &w), -EINVAL);
	attrs[1].format = marker__format(MARKER_GAP); /* of another id */
	assert_int_equal(perfdata__create(x->dirfd, "t", attrs, 2, &x->err, &w), -EINVAL);
	memcpy(attrs, x->attrs, sizeof(attrs));
	attrs[0].attr = &a;
	a.sample_type &= ~PERF_SAMPLE_CPU; /* the trailer would be shorter */
	assert_int_equal(perfdata__create(x->dirfd, "t", attrs, 2, &x->err, &w), -EINVAL);
	a.sample_type = x->clock_attr.sample_type | PERF_SAMPLE_STREAM_ID;
	assert_int_equal(perfdata__create(x->dirfd, "t", attrs, 2, &x->err, &w), -EINVAL);
	a = x->clock_attr;
	a.sample_id_all = 0;
	assert_int_equal(perfdata__create(x->dirfd, "t", attrs, 2, &x->err, &w), -EINVAL);
	attrs[0] = attrs[1]; /* the same id twice */
	assert_int_equal(perfdata__create(x->dirfd, "t", attrs, 2, &x->err, &w), -EINVAL);
	assert_int_equal(perfdata__create(x->dirfd, "t", attrs, 0, &x->err, &w), -EINVAL);
	assert_int_equal(perfdata__create(-1, "t", x->attrs, 2, &x->err, &w), -EBADF);
	assert_null(w);
	assert_int_equal(count_files(x), 0);
}

/* A file larger than the buffer, with records that do not divide it. */
static void test_many_records(void **state)
{
	struct fixture *x = *state;
	struct perfdata_writer *w = create(x, "x.tmp");
	struct buf b = { 0 }, file = { 0 };
	const size_t data = 104 + 3 * 8 + 2 * 144, n = 20000;
	uint64_t size;
	char path[128];
	size_t i;

	add_trigger(&b, &trigger, T0);
	for (i = 0; i < n; i++)
		assert_int_equal(perfdata__write(w, (void *)b.data, &x->err), 0);
	assert_int_equal(perfdata__finish(w, &x->features, &x->err), 0);
	assert_int_equal(perfdata__publish(w, "big", &size, &x->err), 0);
	perfdata__free(w);
	snprintf(path, sizeof(path), "%s/big", x->dir);
	assert_int_equal(buf__read_file(&file, path, 1 << 28), 0);
	assert_int_equal(file.len, size);
	assert_int_equal(u64_at(&file, 48), n * b.len);
	for (i = 0; i < n; i++)
		assert_memory_equal(file.data + data + i * b.len, b.data, b.len);
	buf__free(&file);
	buf__free(&b);
}

/* As a full disk: the error comes back, nothing stays. */
static void test_no_room(void **state)
{
	struct fixture *x = *state;
	struct rlimit old, small;
	struct perfdata_writer *w;
	struct buf b = { 0 };
	int i, r = 0;

	add_trigger(&b, &trigger, T0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){ 300 << 10, old.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	w = create(x, "x.tmp");
	for (i = 0; i < 10000 && !r; i++)
		r = perfdata__write(w, (void *)b.data, &x->err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(r, -EFBIG);
	assert_non_null(strstr(x->err.msg, "x.tmp: cannot write"));
	assert_int_equal(perfdata__write(w, (void *)b.data, &x->err), -EINVAL);
	assert_int_equal(perfdata__finish(w, &x->features, &x->err), -EINVAL);
	perfdata__free(w);
	assert_int_equal(count_files(x), 0);
	buf__free(&b);
}

static void need_perf(void)
{
	if (system("command -v perf >/dev/null 2>&1")) {
		print_message("no perf in PATH: skipped\n");
		skip();
	}
}

/* Run "perf ARGS" in the fixture's directory; its exit status must be 0. Output as text. */
static void run_perf(struct fixture *x, const char *args, struct buf *out, struct buf *errors)
{
	char cmd[512], path[128];

	snprintf(cmd, sizeof(cmd), "cd %s && HOME=%s PERF_PAGER=cat perf %s >out 2>err </dev/null",
		 x->dir, x->dir, args);
	if (system(cmd)) {
		print_error("failed: perf %s\n", args);
		snprintf(cmd, sizeof(cmd), "cat %s/err >&2", x->dir);
		fail_msg("perf %s, %d", args, system(cmd));
	}
	snprintf(path, sizeof(path), "%s/out", x->dir);
	assert_int_equal(buf__read_file(out, path, 1 << 24), 0);
	snprintf(path, sizeof(path), "%s/err", x->dir);
	assert_int_equal(buf__read_file(errors, path, 1 << 24), 0);
	assert_int_equal(buf__add_zero(out, 1), 0);
	assert_int_equal(buf__add_zero(errors, 1), 0);
}

/* The output of perf, which says nothing on standard error, contains all of the strings (NULL
 * terminated). */
static void assert_perf_says(struct fixture *x, const char *args, const char *const *want)
{
	struct buf out = { 0 }, errors = { 0 };

	run_perf(x, args, &out, &errors);
	assert_string_equal(errors.data, "");
	for (; *want; want++)
		if (!strstr(out.data, *want))
			fail_msg("perf %s: no '%s' in:\n%s", args, *want, out.data);
	buf__free(&out);
	buf__free(&errors);
}

static void test_perf_script(void **state)
{
	static const char *const want[] = {
		"postgres",
		"cpu-clock:",
		"frbpf:trigger: rule=runq-spike when=\"runqlat > 20ms\" "
		"value=25.334 ms threshold=20.000 ms comm=postgres pid=4242 tid=4242 "
		"process=postmaster key=fsync dev=sda op=write\n",
		"100.002000:",
		"rule=manual",
		"reason=by hand\n",
		"frbpf-test",
		NULL,
	};
	struct fixture *x = *state;
	struct buf records;

	need_perf();
	records = write_dump(x, "perf.data");
	assert_perf_says(x, "script -i perf.data", want);
	buf__free(&records);
}

static void test_perf_header(void **state)
{
	static const char *const want[] = {
		"# hostname : ",
		"# os release : ",
		"# arch : ",
		"# nrcpus avail : ",
		"# cpudesc : ",
		"# cmdline : /usr/bin/frbpf load rules.conf",
		"# event : name = cpu-clock",
		"# event : name = frbpf:trigger",
		"# clockid frequency: ",
		"# sample duration :",
		NULL,
	};
	struct fixture *x = *state;
	struct buf records;

	need_perf();
	records = write_dump(x, "perf.data");
	assert_perf_says(x, "report --header-only -I -i perf.data", want);
	buf__free(&records);
}

static void test_perf_others(void **state)
{
	static const char *const evlist[] = { "cpu-clock: type: 1, size: 128",
					      "frbpf:trigger: type: 2", "write_backward: 1", NULL };
	static const char *const stats[] = { "SAMPLE events:          5",
					     "MMAP2 events:          1", NULL };
	static const char *const build_ids[] = { "abcd000000000000000000000000000000000000", NULL };
	struct fixture *x = *state;
	struct buf records;

	need_perf();
	records = write_dump(x, "perf.data");
	assert_perf_says(x, "evlist -v -i perf.data", evlist);
	assert_perf_says(x, "report --stats -i perf.data", stats);
	assert_perf_says(x, "buildid-list -i perf.data", build_ids);
	buf__free(&records);
}

static void test_perf_json(void **state)
{
	static const char *const want[] = { "\"timestamp\": 100002000000", "\"cmdline\"",
					    "\"hostname\"", "\"real-time\": 1700000000000000000",
					    NULL };
	struct fixture *x = *state;
	struct buf records, out = { 0 }, errors = { 0 }, json = { 0 };
	char path[128];
	size_t i;

	need_perf();
	records = write_dump(x, "perf.data");
	run_perf(x, "data convert --to-json j -i perf.data", &out, &errors);
	assert_non_null(strstr(errors.data, "(5 samples)")); /* its summary, and nothing else */
	assert_null(strstr(errors.data, "rror"));
	snprintf(path, sizeof(path), "%s/j", x->dir);
	assert_int_equal(buf__read_file(&json, path, 1 << 24), 0);
	for (i = 0; want[i]; i++)
		if (!strstr(json.data, want[i]))
			fail_msg("no %s in:\n%s", want[i], json.data);
	buf__free(&json);
	buf__free(&out);
	buf__free(&errors);
	buf__free(&records);
}

static void test_perf_all_markers(void **state)
{
	static const char *const want[] = {
		"frbpf:begin: rule=r comm=c pid=4242 tid=4243",
		"frbpf:gap: cpu=1 lost=7 start=99.000000001 end=100.500000000", NULL
	};
	static const struct marker_begin begin = { "r", "c", PID, PID + 1 };
	static const struct marker_gap gap = { 99000000001ULL, 100500000000ULL, 7, 1 };
	struct fixture *x = *state;
	const struct perfdata_attr attrs[] = { x->attrs[0], marker__event(MARKER_TRIGGER),
					       marker__event(MARKER_BEGIN),
					       marker__event(MARKER_GAP) };
	struct perfdata_writer *w;
	struct buf b = { 0 }, raw = { 0 };
	uint64_t size;

	need_perf();
	assert_int_equal(perfdata__create(x->dirfd, "t", attrs, 4, &x->err, &w), 0);
	make_records(&b);
	assert_int_equal(marker__encode_begin(&raw, &begin), 0);
	assert_int_equal((raw.len + 4) % 8, 0);
	assert_int_equal(
		record__add_sample(&b, &(struct record_sample){ .id = marker__id(MARKER_BEGIN),
								.pid = PID,
								.tid = PID + 1,
								.time = T0 + 6000000,
								.cpu = 0,
								.raw = raw.data,
								.raw_size = raw.len }),
		0);
	raw.len = 0;
	assert_int_equal(marker__encode_gap(&raw, &gap), 0);
	assert_int_equal((raw.len + 4) % 8, 0);
	assert_int_equal(
		record__add_sample(&b, &(struct record_sample){ .id = marker__id(MARKER_GAP),
								.pid = 0,
								.tid = 0,
								.time = T0 + 7000000,
								.cpu = 1,
								.raw = raw.data,
								.raw_size = raw.len }),
		0);
	write_all(x, w, &b);
	assert_int_equal(perfdata__finish(w, &x->features, &x->err), 0);
	assert_int_equal(perfdata__publish(w, "perf.data", &size, &x->err), 0);
	perfdata__free(w);
	assert_perf_says(x, "script -i perf.data", want);
	buf__free(&b);
	buf__free(&raw);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_layout),
		TEST(test_feature_bits),
		TEST(test_publish_does_not_replace),
		TEST(test_publish_by_link),
		TEST(test_user_pointers),
		TEST(test_create_does_not_replace),
		TEST(test_nothing_left),
		TEST(test_refused_records),
		TEST(test_refused_attrs),
		TEST(test_many_records),
		TEST(test_no_room),
		TEST(test_perf_script),
		TEST(test_perf_header),
		TEST(test_perf_others),
		TEST(test_perf_json),
		TEST(test_perf_all_markers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
