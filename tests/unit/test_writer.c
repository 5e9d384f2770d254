// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files of the writer, byte by byte.
 * with: others
 */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "common/cleanup.h"
#include "perfdata/file_attr.h"
#include "perfdata/file_layout.h"
#include "writer_fixture.h"

/* Overrides libc's function, to test a file system without RENAME_NOREPLACE anywhere. */
static bool no_noreplace;

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned int flags)
{
	if (no_noreplace && flags) {
		errno = EINVAL;
		return -1;
	}
	return syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
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
	for (i = 0; i < ARRAY_SIZE(always); i++)
		assert_true(u64_at(&file, 72) >> always[i] & 1);
	for (i = 0; i < ARRAY_SIZE(never); i++)
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

	write_records(x, w, &records);
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
	assert_int_equal(count_files(x), 1); /* the file of the first */
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
	assert_int_equal(perfdata__finish(w, &x->features, &x->err), 0); /* refused calls do no harm
									  * */
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
	attrs[1].format = marker__format(MARKER_GAP); /* the format of another id */
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

/* The last attr of a file lists only fields at which a reader of any sample finds them. */
static void test_common_fields(void **state)
{
	struct perf_event_attr a = { .sample_type = RECORD_SAMPLE_TYPE | PERF_SAMPLE_PERIOD |
						    PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_WEIGHT };
	struct perf_event_attr b = a, last = { .sample_type = RECORD_SAMPLE_TYPE };
	const struct perfdata_attr v[] = { { .attr = &a }, { .attr = &b } };

	(void)state;
	file_attr__list_common(&last, v, 2);
	assert_int_equal(last.sample_type, a.sample_type);

	b.sample_type |= PERF_SAMPLE_RAW; /* the weight moves */
	last.sample_type = RECORD_SAMPLE_TYPE;
	file_attr__list_common(&last, v, 2);
	assert_int_equal(last.sample_type, a.sample_type & ~(uint64_t)PERF_SAMPLE_WEIGHT);

	b.sample_type = a.sample_type & ~(uint64_t)PERF_SAMPLE_CALLCHAIN;
	last.sample_type = RECORD_SAMPLE_TYPE;
	file_attr__list_common(&last, v, 2);
	assert_int_equal(last.sample_type, RECORD_SAMPLE_TYPE | PERF_SAMPLE_PERIOD);

	a.sample_type = b.sample_type = RECORD_SAMPLE_TYPE | PERF_SAMPLE_REGS_INTR;
	a.sample_regs_intr = 1;
	last.sample_type = RECORD_SAMPLE_TYPE;
	file_attr__list_common(&last, v, 2); /* register sets of other sizes */
	assert_int_equal(last.sample_type, RECORD_SAMPLE_TYPE);
}

/* A file larger than the buffer, with records that do not divide it evenly. */
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

/* Like a full disk: the error is returned, and no file stays. */
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
		TEST(test_common_fields),
		TEST(test_many_records),
		TEST(test_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
