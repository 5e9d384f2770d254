// SPDX-License-Identifier: GPL-2.0-only
/* The bytes of feature sections. test_writer_perf reads them with perf. */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/cleanup.h"
#include "common/format_field.h"
#include "perfdata/encode.h"
#include "perfdata/features.h"
#include "perfdata/marker.h"
#include "perfdata/tracing_data.h"

/* Reads a section from its start. */
struct cursor {
	const struct buf *b;
	size_t off;
};

static const void *next_bytes(struct cursor *c, size_t len)
{
	const void *p = c->b->data + c->off;

	assert_true(len <= c->b->len - c->off);
	c->off += len;
	return p;
}

static uint32_t take_u32(struct cursor *c)
{
	uint32_t v;

	memcpy(&v, next_bytes(c, sizeof(v)), sizeof(v));
	return v;
}

static uint64_t take_u64(struct cursor *c)
{
	uint64_t v;

	memcpy(&v, next_bytes(c, sizeof(v)), sizeof(v));
	return v;
}

static void want_bytes(struct cursor *c, const void *want, size_t len)
{
	assert_memory_equal(next_bytes(c, len), want, len);
}

/* A string in a field of @padded bytes, filled with zeros. */
static void want_string(struct cursor *c, const char *want, uint32_t padded)
{
	const char *text;
	size_t i;

	assert_int_equal(take_u32(c), padded);
	text = next_bytes(c, padded);
	assert_string_equal(text, want);
	for (i = strlen(want); i < padded; i++)
		assert_int_equal(text[i], 0);
}

static void want_end(struct cursor *c)
{
	assert_int_equal(c->off, c->b->len);
}

static struct cursor encode(struct buf *b, unsigned int bit, const struct perfdata_features *f,
			    const struct perfdata_attr *attrs, size_t n)
{
	assert_int_equal(features__encode(bit, f, attrs, n, b), 0);
	return (struct cursor){ b, 0 };
}

static void test_string_padding(void **state)
{
	static const struct {
		size_t len;
		uint32_t padded;
	} cases[] = { { 0, 64 }, { 1, 64 }, { 63, 64 }, { 64, 128 }, { 127, 128 }, { 128, 192 } };
	char text[129];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf b = { 0 };
		struct cursor c = { &b, 0 };

		memset(text, 'x', sizeof(text));
		text[cases[i].len] = '\0';
		assert_int_equal(encode__string(&b, text), 0);
		want_string(&c, text, cases[i].padded);
		want_end(&c);
		buf__free(&b);
	}
}

static void test_cmdline(void **state)
{
	static const char *const argv[] = { "/usr/bin/frbpf", "dump", NULL };
	static const char *const none[] = { NULL };
	const struct perfdata_features f = { .cmdline = argv }, empty = { .cmdline = none },
				       no = { 0 };
	struct buf b = { 0 };
	struct cursor c = encode(&b, HEADER_CMDLINE, &f, NULL, 0);

	assert_int_equal(take_u32(&c), 2);
	want_string(&c, "/usr/bin/frbpf", 64);
	want_string(&c, "dump", 64);
	want_end(&c);
	b.len = 0;
	c = encode(&b, HEADER_CMDLINE, &empty, NULL, 0);
	assert_int_equal(take_u32(&c), 0);
	want_end(&c);
	b.len = 0;
	assert_int_equal(features__encode(HEADER_CMDLINE, &no, NULL, 0, &b), -ENOENT);
	assert_int_equal(b.len, 0);
	buf__free(&b);
}

static void test_event_desc(void **state)
{
	static const uint64_t ids[] = { 7, 8, 9 };
	const struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = 128 };
	const struct perfdata_attr attrs[] = {
		{ &attr, "cpu-clock/freq=99/", ids, 3, NULL },
		marker__event(MARKER_TRIGGER),
	};
	const struct perfdata_features f = { 0 };
	struct buf b = { 0 };
	struct cursor c = encode(&b, HEADER_EVENT_DESC, &f, attrs, 2);

	assert_int_equal(take_u32(&c), 2);
	assert_int_equal(take_u32(&c), 128);
	want_bytes(&c, &attr, 128);
	assert_int_equal(take_u32(&c), 3);
	want_string(&c, "cpu-clock/freq=99/", 64);
	want_bytes(&c, ids, sizeof(ids));
	want_bytes(&c, marker__attr(MARKER_TRIGGER), 128);
	assert_int_equal(take_u32(&c), 1);
	want_string(&c, "frbpf:trigger", 64);
	assert_int_equal(take_u64(&c), marker__id(MARKER_TRIGGER));
	want_end(&c);
	buf__free(&b);
}

static void test_times(void **state)
{
	const struct perfdata_features f = { .first_sample = 10,
					     .last_sample = 20,
					     .clock_resolution = 1,
					     .realtime = 30,
					     .monotonic = 40 };
	const struct perfdata_features none = { 0 };
	struct buf b = { 0 };
	struct cursor c;

	c = encode(&b, HEADER_SAMPLE_TIME, &f, NULL, 0);
	assert_int_equal(take_u64(&c), 10);
	assert_int_equal(take_u64(&c), 20);
	want_end(&c);
	b.len = 0;
	c = encode(&b, HEADER_CLOCKID, &f, NULL, 0);
	assert_int_equal(take_u64(&c), 1);
	want_end(&c);
	b.len = 0;
	c = encode(&b, HEADER_CLOCK_DATA, &f, NULL, 0);
	assert_int_equal(take_u32(&c), 1);
	assert_int_equal(take_u32(&c), CLOCK_MONOTONIC);
	assert_int_equal(take_u64(&c), 30);
	assert_int_equal(take_u64(&c), 40);
	want_end(&c);
	b.len = 0;
	assert_int_equal(features__encode(HEADER_CLOCKID, &none, NULL, 0, &b), -ENOENT);
	assert_int_equal(features__encode(HEADER_CLOCK_DATA, &none, NULL, 0, &b), -ENOENT);
	assert_int_equal(features__encode(HEADER_SAMPLE_TIME, &none, NULL, 0, &b), 0);
	buf__free(&b);
}

static void want_build_id(struct cursor *c, uint16_t misc, const uint8_t *data, uint8_t size,
			  const char *name, size_t padded)
{
	const struct perf_event_header *h = next_bytes(c, sizeof(*h));
	const char *text;

	assert_int_equal(h->type, 0);
	assert_int_equal(h->misc, misc);
	assert_int_equal(h->size, 36 + padded);
	assert_int_equal(take_u32(c), UINT32_MAX); /* pid -1 */
	want_bytes(c, data, 20);
	assert_int_equal(take_u32(c), size);
	text = next_bytes(c, padded);
	assert_string_equal(text, name);
}

static void test_build_ids(void **state)
{
	static char long_name[PATH_MAX + 1], name63[64];
	const struct perfdata_build_id ids[] = {
		{ { 20, { 1, 2, 3 } }, true, "[kernel.kallsyms]" },
		{ { 16, { 4, 5, 6 } }, false, name63 },
		{ { 0 }, false, "/no/build/id" },
		{ { 20, { 9 } }, false, long_name },
	};
	const struct perfdata_features f = { .build_ids = ids, .n_build_ids = 4 };
	const struct perfdata_features none = { .build_ids = ids + 2, .n_build_ids = 2 };
	struct buf b = { 0 };
	struct cursor c;

	memset(long_name, 'x', PATH_MAX);
	memset(name63, 'y', 63);
	c = encode(&b, HEADER_BUILD_ID, &f, NULL, 0);
	want_build_id(&c, 0x8001, ids[0].id.data, 20, "[kernel.kallsyms]", 64);
	want_build_id(&c, 0x8002, ids[1].id.data, 16, name63, 64);
	want_end(&c);
	b.len = 0;
	assert_int_equal(features__encode(HEADER_BUILD_ID, &none, NULL, 0, &b), -ENOENT);
	buf__free(&b);
}

static void test_bpf(void **state)
{
	const struct perfdata_blob blobs[] = { { 3, "abcde", 5 }, { 4, "fg", 2 } };
	const struct perfdata_features f = {
		.bpf_progs = blobs, .n_bpf_progs = 2, .btfs = blobs, .n_btfs = 2
	};
	struct buf b = { 0 };
	struct cursor c = encode(&b, HEADER_BPF_PROG_INFO, &f, NULL, 0);

	assert_int_equal(take_u32(&c), 2);
	want_bytes(&c, "abcdefg", 7);
	want_end(&c);
	b.len = 0;
	c = encode(&b, HEADER_BPF_BTF, &f, NULL, 0);
	assert_int_equal(take_u32(&c), 2);
	assert_int_equal(take_u32(&c), 3);
	assert_int_equal(take_u32(&c), 5);
	want_bytes(&c, "abcde", 5);
	assert_int_equal(take_u32(&c), 4);
	assert_int_equal(take_u32(&c), 2);
	want_bytes(&c, "fg", 2);
	want_end(&c);
	buf__free(&b);
}

static void test_no_section(void **state)
{
	static const unsigned int bits[] = { 0, 3, 15, 17, 18, 19, 24, 27, 30, 32, 255 };
	const struct perfdata_features f = { 0 };
	struct buf b = { 0 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bits); i++)
		assert_int_equal(features__encode(bits[i], &f, NULL, 0, &b), -ENOENT);
	assert_int_equal(b.len, 0);
}

static struct buf text_buf(const char *s)
{
	struct buf b = { 0 };

	assert_int_equal(buf__add_str(&b, s), 0);
	return b;
}

static void want_sized(struct cursor *c, const char *want)
{
	assert_int_equal(take_u64(c), strlen(want));
	want_bytes(c, want, strlen(want));
}

static void want_preamble(struct cursor *c)
{
	const uint16_t one = 1;

	want_bytes(c, "\x17\x08\x44tracing0.6", 14);
	assert_int_equal(*(const uint8_t *)next_bytes(c, 1), *(const uint8_t *)&one ? 0 : 1);
	assert_int_equal(*(const uint8_t *)next_bytes(c, 1), sizeof(long));
	assert_int_equal(take_u32(c), sysconf(_SC_PAGESIZE));
}

static void test_tracing_data(void **state)
{
	static const struct perf_event_attr clock = { .type = PERF_TYPE_SOFTWARE };
	static const struct perf_event_attr t3 = { .type = PERF_TYPE_TRACEPOINT, .config = 3 };
	static const struct perf_event_attr t4 = { .type = PERF_TYPE_TRACEPOINT, .config = 4 };
	static const struct perf_event_attr t5 = { .type = PERF_TYPE_TRACEPOINT, .config = 5 };
	static const struct perfdata_format sw = { "sched", "switch", "three", 5 };
	static const struct perfdata_format wk = { "sched", "wakeup", "four", 4 };
	static const struct perfdata_format irq = { "irq", "entry", "five", 4 };
	const struct perfdata_attr attrs[] = {
		/* neither sorted nor grouped, with a duplicate */
		{ &t4, "b", NULL, 0, &wk },  { &clock, "c", NULL, 0, NULL },
		{ &t5, "i", NULL, 0, &irq }, { &t3, "a", NULL, 0, &sw },
		{ &t4, "B", NULL, 0, &wk },
	};
	struct perfdata_tracing t = { text_buf("page"), text_buf("event"), text_buf("printk"),
				      text_buf("1 init\n") };
	struct buf b = { 0 };
	struct cursor c = { &b, 0 };

	assert_int_equal(tracing_data__encode(&t, attrs, 5, &b), 0);
	want_preamble(&c);
	want_bytes(&c, "header_page", 12);
	want_sized(&c, "page");
	want_bytes(&c, "header_event", 13);
	want_sized(&c, "event");
	assert_int_equal(take_u32(&c), 0); /* events of ftrace itself: none */
	assert_int_equal(take_u32(&c), 2);
	want_bytes(&c, "irq", 4);
	assert_int_equal(take_u32(&c), 1);
	want_sized(&c, "five");
	want_bytes(&c, "sched", 6);
	assert_int_equal(take_u32(&c), 2);
	want_sized(&c, "three");
	want_sized(&c, "four");
	assert_int_equal(take_u32(&c), 0); /* size of kallsyms: none */
	assert_int_equal(take_u32(&c), 6);
	want_bytes(&c, "printk", 6);
	want_sized(&c, "1 init\n");
	want_end(&c);
	b.len = 0;
	assert_int_equal(tracing_data__encode(&t, attrs + 1, 1, &b), -ENOENT);
	assert_int_equal(b.len, 0);
	buf__free(&t.header_page);
	buf__free(&t.header_event);
	buf__free(&t.printk_formats);
	buf__free(&t.saved_cmdlines);
	buf__free(&b);
}

static void test_markers(void **state)
{
	enum marker_kind kind;
	uint64_t id;

	for (kind = 0; kind < MARKER_KINDS; kind++) {
		const struct perfdata_format *f = marker__format(kind);

		assert_true(format_text__id(f->text, f->len, &id));
		assert_int_equal(id, marker__attr(kind)->config);
		assert_int_equal(marker__attr(kind)->size, 128);
		assert_true(marker__id(kind) > 1ULL << 62);
		assert_true(marker__id(kind) < 1ULL << 63);
	}
}

/* Long texts are cut at a character; control characters cannot start a new line in a reader. */
static void test_marker_text(void **state)
{
	struct marker_begin m = { .rule = "two\nlines\t", .comm = "fifteen bytes.\xc3\xa9" };
	struct buf raw = { 0 };

	assert_int_equal(marker__encode_begin(&raw, &m), 0);
	assert_int_equal(raw.len, 100);
	assert_string_equal(raw.data + 8, "two lines ");
	assert_string_equal(raw.data + 72, "fifteen bytes.");
	buf__free(&raw);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_string_padding), cmocka_unit_test(test_cmdline),
		cmocka_unit_test(test_event_desc),     cmocka_unit_test(test_times),
		cmocka_unit_test(test_build_ids),      cmocka_unit_test(test_bpf),
		cmocka_unit_test(test_no_section),     cmocka_unit_test(test_tracing_data),
		cmocka_unit_test(test_markers),	       cmocka_unit_test(test_marker_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
