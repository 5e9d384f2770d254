// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads the records as perf does. Before a program of the window is loaded, each of its addresses
 * has a placeholder; then it has the program's symbol.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "perfdata/record.h"
#include "sideband/ksymbol_cover.h"

#define MAX 16

struct reader {
	struct {
		uint64_t start, end;
		char name[32];
	} v[MAX];
	size_t n, ours, theirs;
	uint64_t time;
};

static void add_ksymbol(struct buf *b, uint64_t time, uint64_t addr, uint32_t len, const char *name)
{
	const struct record_trailer t = { .time = time, .id = 7 };

	assert_int_equal(
		record__add_ksymbol(b, addr, len, PERF_RECORD_KSYMBOL_TYPE_BPF, 0, name, &t), 0);
}

static void end(struct buf *b, uint64_t time, uint64_t addr, uint32_t len, const char *name)
{
	const struct record_trailer t = { .time = time, .id = 7 };

	assert_int_equal(record__add_ksymbol(b, addr, len, PERF_RECORD_KSYMBOL_TYPE_BPF,
					     PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER, name, &t),
			 0);
}

static size_t find_address(const struct reader *r, uint64_t addr)
{
	size_t i;

	for (i = 0; i < r->n; i++)
		if (r->v[i].start <= addr && addr < r->v[i].end)
			return i;
	return MAX;
}

/*
 * Apply a record as perf does. A symbol must not begin where another is, nor end without having
 * begun.
 */
static void apply(struct reader *r, const struct record_ksymbol *k)
{
	size_t i, at = find_address(r, k->addr);

	*(strcmp(k->name, RECORD_KSYMBOL_NONE) ? &r->theirs : &r->ours) += 1;
	assert_true(record__time(&k->header) >= r->time);
	r->time = record__time(&k->header);
	if (k->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER) {
		assert_true(at < MAX);
		assert_string_equal(r->v[at].name, k->name);
		assert_true(r->v[at].start == k->addr && r->v[at].end == k->addr + k->len);
		r->v[at] = r->v[--r->n];
		return;
	}
	for (i = 0; i < r->n; i++)
		assert_true(r->v[i].end <= k->addr || r->v[i].start >= k->addr + k->len);
	assert_true(r->n < MAX);
	r->v[r->n].start = k->addr;
	r->v[r->n].end = k->addr + k->len;
	snprintf(r->v[r->n++].name, sizeof(r->v[0].name), "%s", k->name);
}

static void read_until(struct reader *r, const struct buf *b, size_t *off, uint64_t time)
{
	while (*off < b->len) {
		const struct record_ksymbol *k = (const void *)(b->data + *off);

		if (record__time(&k->header) > time)
			break;
		if (k->header.type == PERF_RECORD_KSYMBOL)
			apply(r, k);
		*off += k->header.size;
	}
}

static const char *name_at(const struct reader *r, uint64_t addr)
{
	size_t i = find_address(r, addr);

	return i < MAX ? r->v[i].name : "";
}

static void free_both(struct buf *base, struct buf *window)
{
	buf__free(base);
	buf__free(window);
}

/* Like libbpf's feature probes: small programs, one after another, at nearly the same address. */
static void test_one_after_the_other(void **state)
{
	struct buf base = { 0 }, window = { 0 };
	struct reader r = { 0 };
	size_t off = 0;
	uint64_t addr;

	add_ksymbol(&window, 10, 0x1010, 25, "bpf_prog_a");
	end(&window, 11, 0x1010, 25, "bpf_prog_a");
	add_ksymbol(&window, 20, 0x100c, 43, "bpf_prog_b");
	end(&window, 21, 0x100c, 43, "bpf_prog_b");
	add_ksymbol(&window, 30, 0x1018, 49, "bpf_prog_c");
	assert_int_equal(ksymbol_cover(&base, &window), 0);
	read_until(&r, &base, &off, 0);
	assert_int_equal(off, base.len);
	for (off = 0, addr = 0x100c; addr < 0x1018 + 49; addr++)
		assert_string_equal(name_at(&r, addr), RECORD_KSYMBOL_NONE);
	assert_string_equal(name_at(&r, 0x100b), "");
	assert_string_equal(name_at(&r, 0x1018 + 49), "");
	read_until(&r, &window, &off, 10);
	assert_string_equal(name_at(&r, 0x100f), RECORD_KSYMBOL_NONE);
	assert_string_equal(name_at(&r, 0x1010), "bpf_prog_a");
	assert_string_equal(name_at(&r, 0x1010 + 25), RECORD_KSYMBOL_NONE);
	read_until(&r, &window, &off, 11);
	assert_string_equal(name_at(&r, 0x1010), RECORD_KSYMBOL_NONE);
	read_until(&r, &window, &off, 20);
	assert_string_equal(name_at(&r, 0x1010), "bpf_prog_b");
	assert_string_equal(name_at(&r, 0x100c + 43), RECORD_KSYMBOL_NONE);
	read_until(&r, &window, &off, 30);
	assert_string_equal(name_at(&r, 0x1018), "bpf_prog_c");
	assert_string_equal(name_at(&r, 0x1018 + 48), "bpf_prog_c");
	assert_int_equal(off, window.len);
	assert_int_equal(r.theirs, 5);
	free_both(&base, &window);
}

/* A program from before the window ends. A new one overlaps its addresses. */
static void test_place_of_an_old_one(void **state)
{
	struct buf base = { 0 }, window = { 0 };
	struct reader r = { 0 };
	size_t off = 0;

	add_ksymbol(&base, 0, 0x2000, 0x100, "bpf_prog_old");
	add_ksymbol(&base, 0, 0x3000, 0x100, "bpf_prog_other");
	end(&window, 10, 0x2000, 0x100, "bpf_prog_old");
	add_ksymbol(&window, 20, 0x2080, 0x100, "bpf_prog_new");
	assert_int_equal(ksymbol_cover(&base, &window), 0);
	read_until(&r, &base, &off, 0);
	assert_string_equal(name_at(&r, 0x2000), "bpf_prog_old");
	assert_string_equal(name_at(&r, 0x20ff), "bpf_prog_old");
	assert_string_equal(name_at(&r, 0x2100), RECORD_KSYMBOL_NONE);
	assert_string_equal(name_at(&r, 0x3000), "bpf_prog_other");
	assert_int_equal(r.n, 3);
	off = 0;
	read_until(&r, &window, &off, 10);
	assert_string_equal(name_at(&r, 0x2000), RECORD_KSYMBOL_NONE);
	assert_string_equal(name_at(&r, 0x20ff), RECORD_KSYMBOL_NONE);
	read_until(&r, &window, &off, 20);
	assert_string_equal(name_at(&r, 0x2080), "bpf_prog_new");
	assert_string_equal(name_at(&r, 0x217f), "bpf_prog_new");
	free_both(&base, &window);
}

/* Without new programs, and for symbols that are not programs, nothing is added. */
static void test_left_alone(void **state)
{
	const struct record_trailer t = { .time = 5 };
	struct buf base = { 0 }, window = { 0 };
	size_t base_len, len;

	assert_int_equal(ksymbol_cover(&base, &window), 0);
	assert_int_equal(base.len + window.len, 0);
	add_ksymbol(&base, 0, 0x2000, 0x100, "bpf_prog_old");
	add_ksymbol(&window, 5, 0x4000, 0x100, "bpf_trampoline_1");
	assert_int_equal(record__add_comm(&window, 0, 1, 1, "x", &t), 0);
	add_ksymbol(&window, 6, 0x5000, 0, "bpf_prog_interpreted");
	end(&window, 7, 0x2000, 0x100, "bpf_prog_old");
	base_len = base.len;
	len = window.len;
	assert_int_equal(ksymbol_cover(&base, &window), 0);
	assert_int_equal(base.len, base_len);
	assert_int_equal(window.len, len);
	free_both(&base, &window);
}

/* The end of an old program was lost: no placeholders at its addresses. */
static void test_lost_end(void **state)
{
	struct buf base = { 0 }, window = { 0 };
	size_t off = 0, n = 0;

	add_ksymbol(&base, 0, 0x2000, 0x100, "bpf_prog_old");
	add_ksymbol(&window, 5, 0x2000, 0x80, "bpf_prog_new");
	end(&window, 6, 0x2000, 0x80, "bpf_prog_new");
	end(&window, 7, 0x9000, 0x80, "bpf_prog_nobody_knows");
	assert_int_equal(ksymbol_cover(&base, &window), 0);
	for (; off < window.len; n++)
		off += ((const struct perf_event_header *)(window.data + off))->size;
	assert_int_equal(n, 3);
	free_both(&base, &window);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_after_the_other),
		cmocka_unit_test(test_place_of_an_old_one),
		cmocka_unit_test(test_left_alone),
		cmocka_unit_test(test_lost_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
