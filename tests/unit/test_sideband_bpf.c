// SPDX-License-Identifier: GPL-2.0-only
/* BPF programs in slices of the side band. Needs root (or CAP_PERFMON and CAP_BPF). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "common/clock.h"
#include "sideband_fixture.h"

static int load_program(void)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "sideband_test", "GPL", insns, 2, NULL);
}

/* Symbols and infos of programs loaded before and in the window. */
static void test_bpf(void **state)
{
	int before = load_program(), inside;
	uint32_t self = getpid();
	const struct perf_event_header *h;
	struct sideband_slice *s;
	struct sideband *sb;
	size_t off, i, symbols = 0, infos = 0;
	uint64_t start;

	if (before < 0)
		skip();
	sb = start_sideband(&(struct sideband_opts){ 0 });
	start = now_ns();
	inside = load_program();
	assert_true(inside >= 0);
	s = slice_of(sb, &self, 1, start, now_ns());
	for (off = 0; off < s->records.len; off += h->size) {
		h = (const void *)(s->records.data + off);
		if (h->type == PERF_RECORD_KSYMBOL &&
		    strstr(((const struct record_ksymbol *)h)->name, "_sideband_test"))
			symbols++;
	}
	assert_int_equal(symbols, 2);
	for (i = 0; i < s->n_bpf_progs; i++) {
		const struct buf *b = &s->bpf_progs[i];
		const struct bpf_prog_info *info = (const void *)(b->data + 16);
		const uint32_t *len = (const void *)b->data;

		assert_int_equal(len[0], 232);
		assert_int_equal(b->len, 16 + len[0] + len[1]);
		if (!strcmp(info->name, "sideband_test"))
			infos++;
	}
	assert_int_equal(infos, 2);
	sideband_slice__free(s);
	sideband__free(sb);
	close(before);
	close(inside);
}

static size_t count_infos(const struct sideband_slice *s, uint32_t id)
{
	size_t i, n = 0;

	for (i = 0; i < s->n_bpf_progs; i++)
		n += ((const struct bpf_prog_info *)(s->bpf_progs[i].data + 16))->id == id;
	return n;
}

/* Does the window have the BPF_EVENT of @id, with the right size? */
static bool has_bpf_event(const struct sideband_slice *s, uint32_t id, uint64_t start)
{
	const struct record_bpf_event *r;
	size_t off;

	for (off = 0; off < s->records.len; off += r->header.size) {
		r = (const void *)(s->records.data + off);
		if (r->header.type == PERF_RECORD_BPF_EVENT && r->id == id &&
		    r->type == PERF_BPF_EVENT_PROG_LOAD && record__time(&r->header) >= start)
			return r->header.size == sizeof(*r) + RECORD_TRAILER_SIZE;
	}
	return false;
}

/*
 * A program is unloaded long before the dump. A second recorder must not damage the records of the
 * first: for KSYMBOL and BPF_EVENT the kernel adds up the trailers of all events.
 */
static void test_bpf_gone(void **state)
{
	const struct sideband_opts opts = { .rt_priority = 2 };
	struct bpf_prog_info info = { 0 };
	uint32_t self = getpid(), len = sizeof(info);
	struct sideband *sb[2];
	uint64_t start;
	size_t i;
	int fd;

	for (i = 0; i < 2; i++)
		sb[i] = start_sideband(&opts);
	start = now_ns();
	fd = load_program();
	if (fd < 0)
		skip();
	assert_int_equal(bpf_obj_get_info_by_fd(fd, &info, &len), 0);
	usleep(1000000); /* so that the recorder gets it, on any machine */
	close(fd);
	usleep(300000);
	for (i = 0; i < 2; i++) {
		struct sideband_slice *s = slice_of(sb[i], &self, 1, start, now_ns());

		assert_false(s->incomplete);
		assert_true(has_bpf_event(s, info.id, start));
		assert_int_equal(count_infos(s, info.id), 1);
		sideband_slice__free(s);
		sideband__free(sb[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bpf),
		cmocka_unit_test(test_bpf_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
