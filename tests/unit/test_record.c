// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/cleanup.h"
#include "perfdata/record.h"

static const struct record_trailer trailer = {
	.pid = 10, .tid = 11, .time = 12345, .cpu = 3, .id = 77
};

static struct perf_event_header *first_record(struct buf *b)
{
	return (void *)b->data;
}

static void assert_ours(struct buf *b, uint32_t type, uint16_t misc, size_t size)
{
	const struct perf_event_header *h = first_record(b);

	assert_int_equal(b->len, size);
	assert_int_equal(h->type, type);
	assert_int_equal(h->misc, misc);
	assert_int_equal(h->size, size);
	assert_true(record__valid(h, b->len));
	assert_false(record__valid(h, b->len - 1));
	assert_int_equal(record__time(h), trailer.time);
	assert_int_equal(record__id(h), trailer.id);
	assert_int_equal(record__pid(h), trailer.pid);
	assert_int_equal(record__tid(h), trailer.tid);
}

static void test_comm(void **state)
{
	struct buf b = { 0 };

	assert_int_equal(
		record__add_comm(&b, PERF_RECORD_MISC_COMM_EXEC, 1, 2, "seven77", &trailer), 0);
	assert_ours(&b, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, 16 + 8 + 32);
	assert_string_equal(((struct record_comm *)b.data)->comm, "seven77");
	buf__free(&b);
	assert_int_equal(record__add_comm(&b, 0, 1, 2, "eight888", &trailer), 0);
	assert_ours(&b, PERF_RECORD_COMM, 0, 16 + 16 + 32); /* the NUL needs another word */
	buf__free(&b);
	assert_int_equal(record__add_comm(&b, 0, 1, 2, "", &trailer), 0);
	assert_ours(&b, PERF_RECORD_COMM, 0, 16 + 8 + 32);
	buf__free(&b);
}

static void test_mmap(void **state)
{
	struct record_mmap2 head = { .header.misc = PERF_RECORD_MISC_USER,
				     .pid = 5,
				     .start = 0x1000 };
	struct buf b = { 0 };

	assert_int_equal(record__add_mmap(&b, PERF_RECORD_MISC_KERNEL, -1, 0, 16, 32, 16,
					  "[kernel.kallsyms]_text", &trailer),
			 0);
	assert_ours(&b, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL, 40 + 24 + 32);
	buf__free(&b);
	assert_int_equal(record__add_mmap2(&b, &head, "/bin/true", &trailer), 0);
	assert_ours(&b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, 72 + 16 + 32);
	assert_string_equal(((struct record_mmap2 *)b.data)->filename, "/bin/true");
	assert_int_equal(((struct record_mmap2 *)b.data)->start, 0x1000);
	buf__free(&b);
}

static void test_others(void **state)
{
	static const uint8_t tag[8] = { 1, 2, 3 };
	static const uint64_t ns[7][2] = { { 1, 2 } };
	struct buf b = { 0 };

	assert_int_equal(record__add_ksymbol(&b, 0xff, 64, 1, 0, "bpf_prog_x", &trailer), 0);
	assert_ours(&b, PERF_RECORD_KSYMBOL, 0, 24 + 16 + 32);
	buf__free(&b);
	assert_int_equal(record__add_bpf_event(&b, 1, 9, tag, &trailer), 0);
	assert_ours(&b, PERF_RECORD_BPF_EVENT, 0, 24 + 32);
	buf__free(&b);
	assert_int_equal(record__add_cgroup(&b, 4, "/", &trailer), 0);
	assert_ours(&b, PERF_RECORD_CGROUP, 0, 16 + 8 + 32);
	buf__free(&b);
	assert_int_equal(record__add_namespaces(&b, 1, 1, ns, 7, &trailer), 0);
	assert_ours(&b, PERF_RECORD_NAMESPACES, 0, 24 + 7 * 16 + 32);
	((struct record_namespaces *)b.data)->nr = 8;
	assert_false(record__valid(first_record(&b), b.len));
	((struct record_namespaces *)b.data)->nr = UINT64_MAX / 16;
	assert_false(record__valid(first_record(&b), b.len));
	buf__free(&b);
}

static void test_names_are_cut(void **state)
{
	struct buf b = { 0 };
	char *name = malloc(100000);

	memset(name, 'x', 99999);
	name[99999] = '\0';
	assert_int_equal(record__add_cgroup(&b, 4, name, &trailer), 0);
	assert_ours(&b, PERF_RECORD_CGROUP, 0, 16 + PATH_MAX + 32);
	assert_int_equal(strlen(((struct record_cgroup *)b.data)->path), PATH_MAX - 1);
	buf__free(&b);
	free(name);
}

static void test_too_long(void **state)
{
	static const uint64_t ns[4096][2];
	static char raw[65536];
	struct buf b = { 0 };

	assert_int_equal(record__add_namespaces(&b, 1, 1, ns, 4096, &trailer), -EMSGSIZE);
	assert_int_equal(record__add_sample(&b, &(struct record_sample){ .id = 1,
									 .raw = raw,
									 .raw_size = sizeof(raw) }),
			 -EMSGSIZE);
	assert_int_equal(b.len, 0);
	buf__free(&b);
}

static void test_raw_sample(void **state)
{
	static const char raw[] = "0123456789";
	const uint64_t *words;
	struct buf b = { 0 };
	uint32_t size;

	assert_int_equal(record__add_sample(&b, &(struct record_sample){ .id = 99,
									 .pid = 20,
									 .tid = 21,
									 .time = 555,
									 .cpu = 1,
									 .raw = raw,
									 .raw_size = 10 }),
			 0);
	assert_int_equal(b.len, 56 + 4 + 12); /* 10 bytes are padded to 12, with the size 16 */
	assert_true(record__valid(first_record(&b), b.len));
	assert_int_equal(first_record(&b)->size, b.len);
	assert_int_equal(record__id(first_record(&b)), 99);
	assert_int_equal(record__pid(first_record(&b)), 20);
	assert_int_equal(record__tid(first_record(&b)), 21);
	assert_int_equal(record__time(first_record(&b)), 555);
	words = (const uint64_t *)b.data;
	assert_int_equal(words[5], 1); /* cpu */
	assert_int_equal(words[6], 1); /* period */
	memcpy(&size, b.data + 56, sizeof(size));
	assert_int_equal(size, 12);
	assert_memory_equal(b.data + 60, raw, 10);
	buf__free(&b);
}

/* Fields that options add to all events are empty in our samples, but at their places. */
static void test_empty_fields(void **state)
{
	static const char raw[12] = "0123456789a";
	static const uint64_t ips[] = { 0x1111, 0x2222 };
	const struct record_sample sample = {
		.id = 99,
		.time = 555,
		.cpu = 3,
		.fields = PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC |
			  PERF_SAMPLE_PHYS_ADDR,
		.ips = ips,
		.n_ips = 2,
		.raw = raw,
		.raw_size = sizeof(raw),
	};
	const uint64_t *words;
	uint32_t len, cpu;
	struct buf b = { 0 };

	assert_int_equal(record__add_sample(&b, &sample), 0);
	assert_true(record__valid(first_record(&b), b.len));
	assert_int_equal(first_record(&b)->size, b.len);
	assert_int_equal(b.len, 56 + 8 + 3 * 8 + 16 + 2 * 8);
	words = (const uint64_t *)b.data;
	assert_int_equal(words[5], 0); /* addr */
	assert_int_equal(words[6], 3); /* cpu */
	assert_int_equal(words[8], 2); /* frames */
	assert_int_equal(words[13], 0);
	assert_int_equal(words[14], 0);
	assert_ptr_equal(record__sample_raw(first_record(&b), sample.fields, &len, &cpu),
			 b.data + 92);
	assert_int_equal(len, 12);
	assert_int_equal(cpu, 3);
	buf__free(&b);
}

/* A record of @type and @size full of zeros, so the id in its trailer is 0. */
static bool zeros_valid(uint32_t type, uint16_t size, size_t avail)
{
	_Alignas(8) static char space[65536];
	struct perf_event_header *h = (void *)space;

	memset(space, 0, sizeof(space));
	*h = (struct perf_event_header){ .type = type, .size = size };
	return record__valid(h, avail);
}

static void test_valid_sizes(void **state)
{
	/* Minimum size of each type, with trailer, by include/uapi/linux/perf_event.h. */
	static const uint16_t least[] = {
		[1] = 80,  [2] = 56,  [3] = 56,	  [4] = 64,  [5] = 64,	[6] = 64,  [7] = 64,
		[8] = 56,  [9] = 48,  [10] = 112, [11] = 64, [12] = 48, [13] = 48, [14] = 40,
		[15] = 48, [16] = 56, [17] = 64,  [18] = 56, [19] = 56, [20] = 56, [21] = 48,
	};
	uint32_t type;

	for (type = 1; type <= 21; type++) {
		assert_true(zeros_valid(type, least[type], least[type]));
		assert_true(zeros_valid(type, least[type], 65536));
		assert_false(zeros_valid(type, least[type] - 8, 65536));
		assert_false(zeros_valid(type, least[type] + 4, 65536));
		assert_false(zeros_valid(type, least[type], least[type] - 1));
	}
}

static void test_valid_types(void **state)
{
	static const uint32_t bad[] = { 0, 22, 23, 63, 64, 68, 82, 1u << 31, UINT32_MAX };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(zeros_valid(bad[i], 128, 128));
	assert_false(zeros_valid(PERF_RECORD_SAMPLE, 0, 128));
	assert_false(zeros_valid(PERF_RECORD_SAMPLE, 8, 4)); /* not even a header */
}

static void test_name_without_end(void **state)
{
	struct buf b = { 0 };

	assert_int_equal(record__add_comm(&b, 0, 1, 2, "abc", &trailer), 0);
	memset(((struct record_comm *)b.data)->comm, 'x', 8);
	assert_false(record__valid(first_record(&b), b.len));
	buf__free(&b);
}

static void test_counts(void **state)
{
	struct record_mmap2 head = { .header.misc = PERF_RECORD_MISC_MMAP_BUILD_ID,
				     .build_id_size = 20 };
	_Alignas(8) struct {
		struct perf_event_header header;
		uint64_t addr;
		uint16_t old_len, new_len;
		uint8_t bytes[4];
		struct record_trailer t;
	} poke = { { PERF_RECORD_TEXT_POKE, 0, sizeof(poke) }, 0, 2, 2, { 0 }, trailer };
	struct buf b = { 0 };

	assert_int_equal(record__add_mmap2(&b, &head, "/x", &trailer), 0);
	assert_true(record__valid(first_record(&b), b.len));
	((struct record_mmap2 *)b.data)->build_id_size = 21;
	assert_false(record__valid(first_record(&b), b.len));
	assert_true(record__valid(&poke.header, sizeof(poke)));
	poke.new_len = 3;
	assert_false(record__valid(&poke.header, sizeof(poke)));
	buf__free(&b);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_comm),	     cmocka_unit_test(test_mmap),
		cmocka_unit_test(test_others),	     cmocka_unit_test(test_names_are_cut),
		cmocka_unit_test(test_too_long),     cmocka_unit_test(test_raw_sample),
		cmocka_unit_test(test_empty_fields), cmocka_unit_test(test_valid_sizes),
		cmocka_unit_test(test_valid_types),  cmocka_unit_test(test_name_without_end),
		cmocka_unit_test(test_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
