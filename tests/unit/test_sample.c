// SPDX-License-Identifier: GPL-2.0-only
/* Decodes samples: every field that they can have, and false lengths. */
#include "common/cleanup.h"
#include "perf_file_fixture.h"

/* perf record writes this for two events of one type: ID, not IDENTIFIER; also STREAM_ID. */
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
	assert_int_equal(s.period, 7); /* the period of the attr: the sample has none */
	assert_int_equal(s.time, T0 + 9);
	perf_file__free(p);
	close(fd);
	file_free(&f);
}

/* Every field that a sample can have; each word tells its position. */
static const uint64_t full_sample[] = {
	501,
	0x1000,
	42ULL << 32 | 41,
	T0,
	0xadd2,
	501,
	502,
	2,
	99, /* identifier .. period */
	2,
	11,
	12,
	21,
	22,
	31,
	32, /* READ: a group of two */
	3,
	(uint64_t)PERF_CONTEXT_KERNEL,
	0x81,
	0x82,		    /* callchain */
	0x1122334400000004, /* RAW: size 4, four bytes */
	1,
	0,
	0x91,
	0x92,
	0x93, /* branch stack with its index */
	2,
	0x51,
	0x52, /* user registers */
	16,
	0x61,
	0x62,
	8, /* user stack */
	70,
	71,
	72, /* weight, data source, transaction */
	0,  /* no registers of the interrupt */
	80,
	81,
	82,
	83, /* physical address, cgroup, page sizes */
	8,
	0x95, /* AUX */
};

static void add_full_attr(struct file *f)
{
	struct perf_event_attr *a;

	add_attr(f, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, (1ULL << 24) - 1, 501);
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

/* Shortened by each number of words, and with each word replaced by a huge count. */
static void test_sample_lengths(void **state)
{
	const size_t n = ARRAY_SIZE(full_sample);
	uint64_t words[ARRAY_SIZE(full_sample)];
	struct file f = { 0 };
	struct err err;

	add_full_attr(&f);
	for (size_t i = 0; i < n; i++) {
		f.records.len = 0;
		add_record(&f, PERF_RECORD_SAMPLE, 0, full_sample, 8 * i);
		refused(&f, "offset");
		for (int shift = 0; shift < 64; shift += 3) {
			memcpy(words, full_sample, sizeof(words));
			words[i] = UINT64_MAX >> shift;
			f.records.len = 0;
			add_record(&f, PERF_RECORD_SAMPLE, 0, words, sizeof(words));
			finish(&f);
			read_all_records(f.whole.data, f.whole.len, &err);
		}
	}
	file_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trailer_of_perf),
		cmocka_unit_test(test_sample_fields),
		cmocka_unit_test(test_sample_lengths),
	};

	return cmocka_run_group_tests_name("sample", tests, NULL, NULL);
}
