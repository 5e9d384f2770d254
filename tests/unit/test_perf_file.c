// SPDX-License-Identifier: GPL-2.0-only
/*
 * The reader of perf.data, on files made byte by byte, complete and damaged in every way that their
 * layout allows. tests/e2e/diff.bats has files of perf.
 */
#include <zstd.h>

#include "common/cleanup.h"
#include "perf_file_fixture.h"

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

	/* time 0 first, then by time; equal times in file order */
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

/* A file that ends early is refused, and the message has the offset. */
static void test_cut_everywhere(void **state)
{
	struct file f = { 0 };
	struct err err;

	make_usual(&f);
	assert_int_equal(read_all_records(f.whole.data, f.whole.len, &err), 5);
	for (size_t len = 0; len < f.whole.len; len++) {
		int r = read_all_records(f.whole.data, len, &err);

		if (r != -EINVAL || (!strstr(err.msg, "offset") && len >= 16))
			fail_msg("cut at %zu: %d '%s'", len, r, err.msg);
	}
	file_free(&f);
}

/*
 * The header claims that the records end in the middle of a record, at every byte that is no
 * border.
 */
static void test_records_cut(void **state)
{
	struct file f = { 0 };
	struct err err;
	size_t border = 0, full;

	make_usual(&f);
	full = f.records.len;
	memset(f.has, 0, sizeof(f.has)); /* the table of the sections moves with the end */
	for (size_t len = 1; len < full; len++) {
		const struct perf_event_header *h = (void *)(f.records.data + border);
		int r;

		f.records.len = len;
		finish(&f);
		r = read_all_records(f.whole.data, f.whole.len, &err);
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

/*
 * A record claims every possible size: the reader ends, does not crash, and reads nothing beyond
 * the file.
 */
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
			r = read_all_records(f.whole.data, f.whole.len, &err);
			h->size = size;
			if (s < 8 || s > f.records.len - at) {
				assert_int_equal(r, -EINVAL);
				assert_non_null(strstr(err.msg, "offset"));
			}
		}
	}
	file_free(&f);
}

/* Any byte of the file is changed to some other values. */
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
			r = read_all_records(f.whole.data, f.whole.len, &err);
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
		{ 0,
		  "\x7f"
		  "ELF\2\1\1\0",
		  "not a perf.data file" },
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
		{ 72, "\0\0\0\x01\0\0\0\0", "--threads" },
	};
	struct file f = { 0 };
	struct err err;

	make_usual(&f);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char was[8];

		memcpy(was, f.whole.data + cases[i].at, 8);
		memcpy(f.whole.data + cases[i].at, cases[i].bytes, 8);
		if (read_all_records(f.whole.data, f.whole.len, &err) != -EINVAL ||
		    !strstr(err.msg, cases[i].words))
			fail_msg("case %zu: '%s'", i, err.msg);
		memcpy(f.whole.data + cases[i].at, was, 8);
	}
	file_free(&f);
}

static void test_attrs(void **state)
{
	struct file f = { 0 };

	make_usual(&f);
	((struct perf_event_attr *)f.attrs.data)->size = 136;
	refused(&f, "another size");
	((struct perf_event_attr *)f.attrs.data)->size = ATTR_SIZE;

	last_attr(&f)->sample_type &= ~PERF_SAMPLE_IDENTIFIER;
	refused(&f, "another place");
	file_free(&f);
}

static void test_ids_out_of_file(void **state)
{
	struct file f = { 0 };
	uint64_t *place;

	make_usual(&f);
	place = (void *)(f.attrs.data + ATTR_SIZE);
	place[0] = UINT64_MAX - 7;
	refused(&f, "the ids of this attr are not in the file");
	file_free(&f);
}

static void test_unknown_id(void **state)
{
	struct file f = { 0 };
	struct err err;

	make_usual(&f);
	add_comm(&f, T0, "other");
	((struct record_trailer *)(f.records.data + f.records.len))[-1].id = 999;
	finish(&f);
	/* a name is read without its event; the meaning of a sample depends on its event */
	assert_int_equal(read_all_records(f.whole.data, f.whole.len, &err), 6);
	add_sample(&f, 999, T0);
	refused(&f, "its id is not that of any event");
	file_free(&f);
}

/* Types of other versions are skipped; AUXTRACE with the data after it. */
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
	assert_int_equal(read_all_records(f.whole.data, f.whole.len, &err), 6);
	aux[0] = UINT64_MAX - 8;
	add_record(&f, 71, 0, aux, sizeof(aux));
	refused(&f, "data reach past");
	f.records.len -= 8 + sizeof(aux);
	add_record(&f, 81, 0, data, sizeof(data));
	refused(&f, "compressed");
	file_free(&f);
}

/* Turn the records of @f into pieces of a zstd stream, of at most @piece bytes each. */
static void compress_records(struct file *f, size_t piece)
{
	struct buf plain = f->records;
	size_t size = ZSTD_compressBound(plain.len), at, len;
	char *packed = malloc(size);

	assert_non_null(packed);
	size = ZSTD_compress(packed, size, plain.data, plain.len, 1);
	assert_false(ZSTD_isError(size));
	f->records = (struct buf){ 0 };
	f->has[27] = true;
	for (at = 0; at < size; at += len) {
		len = size - at < piece ? size - at : piece;
		add_record(f, 81, 0, packed + at, len);
	}
	free(packed);
	buf__free(&plain);
}

static void test_compressed(void **state)
{
	static char zeros[1 << 16];
	struct file f = { 0 };
	struct err err;

	make_usual(&f);
	compress_records(&f, 24);
	finish(&f);
	assert_int_equal(read_all_records(f.whole.data, f.whole.len, &err), 5);
	f.records.data[f.records.len - 8] ^= 0x55;
	finish(&f);
	assert_int_equal(read_all_records(f.whole.data, f.whole.len, &err), -EINVAL);
	f.records.len = 0;
	add_record(&f, 81, 0, "no stream of zstd", 16);
	refused(&f, "compressed records are damaged");
	/* 100 MB of records in a few KB */
	f.records.len = 0;
	for (int i = 0; i < 1600; i++)
		add_record(&f, 900, 0, zeros, 65528 - 8);
	compress_records(&f, 60000);
	refused(&f, "more than 256 times");
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

/* The file is truncated between the check and the reading. */
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
	assert_non_null(strstr(err.msg, "it was truncated at offset"));
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
		cmocka_unit_test(test_compressed),
		cmocka_unit_test(test_not_regular),
		cmocka_unit_test(test_cut_while_read),
	};

	return cmocka_run_group_tests_name("perf_file", tests, NULL, NULL);
}
