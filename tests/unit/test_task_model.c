// SPDX-License-Identifier: GPL-2.0-only
/* The task model on hand-made records, against a model that keeps a byte per page. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/cleanup.h"
#include "perfdata/record.h"
#include "symbols/task_model.h"

#define EXITED_KEEP 2000000000ULL
#define PAGE	    4096ULL

static void apply_all(struct task_model *m, struct buf *b)
{
	const struct perf_event_header *h;
	size_t off;

	for (off = 0; off < b->len; off += h->size) {
		h = (const void *)(b->data + off);
		assert_true(record__valid(h, b->len - off));
		assert_int_equal(task_model__apply(m, h), 0);
	}
	buf__free(b);
}

static void do_comm(struct task_model *m, uint16_t misc, uint32_t pid, uint32_t tid,
		    const char *comm, uint64_t time)
{
	const struct record_trailer t = { .time = time };
	struct buf b = { 0 };

	assert_int_equal(record__add_comm(&b, misc, pid, tid, comm, &t), 0);
	apply_all(m, &b);
}

static void do_map(struct task_model *m, uint32_t pid, uint64_t page, uint64_t pages,
		   const char *name, uint64_t time)
{
	const struct record_trailer t = { .time = time };
	const struct record_mmap2 r = {
		.pid = pid,
		.tid = pid,
		.start = page * PAGE,
		.len = pages * PAGE,
		.pgoff = page * PAGE, /* so that each page must have a known state */
		.prot = 5,
		.flags = 2,
	};
	struct buf b = { 0 };

	assert_int_equal(record__add_mmap2(&b, &r, name, &t), 0);
	apply_all(m, &b);
}

static void do_task(struct task_model *m, uint32_t type, uint32_t pid, uint32_t ppid, uint32_t tid,
		    uint32_t ptid, uint64_t time)
{
	struct {
		struct record_task task;
		struct record_trailer t;
	} r = {
		.task = { { type, 0, sizeof(r) }, pid, ppid, tid, ptid, time },
		.t = { .time = time },
	};
	struct buf b = { 0 };

	assert_int_equal(buf__add(&b, &r, sizeof(r)), 0);
	apply_all(m, &b);
}

static void do_fork(struct task_model *m, uint32_t pid, uint32_t ppid, uint64_t time)
{
	do_task(m, PERF_RECORD_FORK, pid, ppid, pid, ppid, time);
}

static void do_exit(struct task_model *m, uint32_t pid, uint32_t tid, uint64_t time)
{
	do_task(m, PERF_RECORD_EXIT, pid, 1, tid, 1, time);
}

/* The state of a process as text: "comm/tid ... start-end:pgoff name ..." in pages. */
static char *show(const struct task_model *m, uint32_t pid, const uint32_t *tids, size_t n)
{
	struct buf out = { 0 }, text = { 0 };
	const struct perf_event_header *h;
	size_t off;

	assert_int_equal(task_model__emit_process(m, pid, tids, n, 77, &out), 0);
	assert_int_equal(buf__add_str(&text, ""), 0);
	for (off = 0; off < out.len; off += h->size) {
		const struct record_mmap2 *map;
		const struct record_comm *comm;

		h = (const void *)(out.data + off);
		comm = (const void *)h;
		map = (const void *)h;
		assert_true(record__valid(h, out.len - off));
		assert_int_equal(record__time(h), 77);
		if (h->type == PERF_RECORD_COMM)
			buf__printf(&text, "%s/%u ", comm->comm, comm->tid);
		else if (h->type == PERF_RECORD_MMAP2)
			buf__printf(&text, "%d-%d:%d %s ", (int)(map->start / PAGE),
				    (int)((map->start + map->len) / PAGE), (int)(map->pgoff / PAGE),
				    map->filename);
		else if (h->type == PERF_RECORD_NAMESPACES)
			buf__printf(&text, "ns%d ",
				    (int)((const struct record_namespaces *)h)->ns[0].ino);
	}
	buf__free(&out);
	return text.data;
}

static void check(const struct task_model *m, uint32_t pid, const char *wanted)
{
	const uint32_t tids[] = { 1, 11, 12, 13, 100 };
	char *is = show(m, pid, tids, ARRAY_SIZE(tids));

	assert_string_equal(is, wanted);
	free(is);
}

static struct task_model *new_model(void)
{
	struct task_model *m;

	assert_int_equal(task_model__new(&m), 0);
	return m;
}

static void test_overlay(void **state)
{
	struct task_model *m = new_model();

	do_comm(m, 0, 10, 10, "a", 1);
	do_map(m, 10, 10, 10, "/x", 2);
	check(m, 10, "a/10 10-20:10 /x ");
	do_map(m, 10, 12, 3, "/y", 3); /* split */
	check(m, 10, "a/10 10-12:10 /x 12-15:12 /y 15-20:15 /x ");
	do_map(m, 10, 5, 6, "/z", 4); /* trims the front */
	check(m, 10, "a/10 5-11:5 /z 11-12:11 /x 12-15:12 /y 15-20:15 /x ");
	do_map(m, 10, 19, 6, "/w", 5); /* trims the end */
	check(m, 10, "a/10 5-11:5 /z 11-12:11 /x 12-15:12 /y 15-19:15 /x 19-25:19 /w ");
	do_map(m, 10, 0, 0, "/none", 6);
	do_map(m, 10, 11, 8, "/v", 7); /* covers three */
	check(m, 10, "a/10 5-11:5 /z 11-19:11 /v 19-25:19 /w ");
	do_map(m, 10, 11, 8, "/u", 7); /* the same range */
	check(m, 10, "a/10 5-11:5 /z 11-19:11 /u 19-25:19 /w ");
	do_map(m, 10, 0, 100, "/all", 8);
	check(m, 10, "a/10 0-100:0 /all ");
	task_model__free(m);
}

static void test_exec(void **state)
{
	struct task_model *m = new_model();

	do_comm(m, 0, 10, 10, "bash", 1);
	do_task(m, PERF_RECORD_FORK, 10, 10, 11, 10, 2);
	do_map(m, 10, 1, 1, "/bash", 3);
	do_comm(m, 0, 10, 10, "renamed", 4);
	check(m, 10, "renamed/10 bash/11 1-2:1 /bash ");
	do_comm(m, PERF_RECORD_MISC_COMM_EXEC, 10, 10, "ls", 5);
	check(m, 10, "ls/10 ");
	assert_int_equal(task_model__n_threads(m, 10), 1);
	do_map(m, 10, 2, 1, "/ls", 6);
	check(m, 10, "ls/10 2-3:2 /ls ");
	task_model__free(m);
}

static void test_threads_and_exit(void **state)
{
	struct task_model *m = new_model();

	do_comm(m, 0, 10, 10, "main", 1);
	do_task(m, PERF_RECORD_FORK, 10, 10, 12, 10, 2);
	do_task(m, PERF_RECORD_FORK, 10, 10, 11, 12, 3);
	do_comm(m, 0, 10, 11, "worker", 4);
	do_task(m, PERF_RECORD_FORK, 10, 10, 13, 11, 5);
	check(m, 10, "main/10 worker/11 main/12 worker/13 ");
	do_exit(m, 10, 10, 6); /* the leader exits first */
	do_exit(m, 10, 99, 6); /* unknown */
	do_exit(m, 10, 12, 7);
	assert_int_equal(task_model__n_threads(m, 10), 2);
	do_exit(m, 10, 11, 8);
	do_exit(m, 10, 13, 9);
	assert_int_equal(task_model__n_processes(m), 0);
	do_exit(m, 10, 13, 9);
	/* tasks that have exited are still sampled, until their last switch */
	check(m, 10, "main/10 worker/11 main/12 worker/13 ");
	do_comm(m, 0, 20, 20, "x", 8 + EXITED_KEEP);
	check(m, 10, "worker/11 worker/13 ");
	do_comm(m, 0, 20, 20, "x", 10 + EXITED_KEEP);
	check(m, 10, "");
	task_model__free(m);
}

static void test_fork_shares(void **state)
{
	const uint64_t ns[7][2] = { { 4, 40 } };
	struct task_model *m = new_model();
	size_t empty = task_model__bytes(m), before;
	uint32_t pid;

	do_comm(m, 0, 10, 10, "sh", 1);
	for (pid = 0; pid < 100; pid++)
		do_map(m, 10, pid * 2, 1, "/lib", 2);
	assert_int_equal(task_model__set_namespaces(m, 10, ns, 7), 0);
	before = task_model__bytes(m);
	for (pid = 1000; pid < 2000; pid++)
		do_fork(m, pid, 10, 3);
	/* far less than a thousand copies of the list */
	assert_true(task_model__bytes(m) - before < 1000 * 200);
	do_map(m, 1000, 0, 500, "/own", 4);
	do_map(m, 10, 0, 1000, "/parent", 5);
	check(m, 1000, "sh/1000 ns40 0-500:0 /own ");
	check(m, 10, "sh/10 ns40 0-1000:0 /parent ");
	{
		char *child = show(m, 1001, NULL, 0);

		assert_non_null(strstr(child, "sh/1001 ns40 0-1:0 /lib 2-3:2 /lib"));
		free(child);
	}
	for (pid = 1000; pid < 2000; pid++)
		do_exit(m, pid, pid, 6);
	do_exit(m, 10, 10, 7);
	assert_int_equal(task_model__n_processes(m), 0);
	assert_true(task_model__bytes(m) < empty + 1001 * 250); /* names, no maps */
	do_exit(m, 10, 10, 8 + EXITED_KEEP);
	/* nothing is left in use but the room for the next 1024 exits */
	assert_int_equal(task_model__bytes(m), empty + 1024 * 16);
	task_model__free(m);
}

static void test_pid_reuse(void **state)
{
	struct task_model *m = new_model();

	do_comm(m, 0, 10, 10, "sh", 1);
	do_map(m, 10, 1, 1, "/sh", 1);
	do_comm(m, 0, 20, 20, "old", 1);
	do_map(m, 20, 7, 1, "/old", 1);
	do_fork(m, 20, 10, 5); /* the EXIT of the old one was lost */
	check(m, 20, "sh/20 1-2:1 /sh ");
	do_exit(m, 20, 20, 4); /* comes late: it belongs to the old one */
	check(m, 20, "sh/20 1-2:1 /sh ");
	do_fork(m, 30, 999, 6); /* the parent is unknown */
	check(m, 30, "");
	do_comm(m, 0, 30, 30, "new", 7);
	check(m, 30, "new/30 ");
	task_model__free(m);
}

/* Records older than the scan of /proc do not undo what it found. */
static void test_older_than_scan(void **state)
{
	struct task_model *m = new_model();

	assert_int_equal(task_model__add_process(m, 10, 100), 0);
	assert_int_equal(task_model__set_comm(m, 10, 10, "after", 5), 0);
	do_comm(m, PERF_RECORD_MISC_COMM_EXEC, 10, 10, "before", 99);
	do_fork(m, 10, 1, 98);
	do_exit(m, 10, 10, 97);
	check(m, 10, "after/10 ");
	do_comm(m, 0, 10, 10, "later", 101);
	check(m, 10, "later/10 ");
	task_model__free(m);
}

static void test_symbols(void **state)
{
	const struct record_trailer t = { .time = 1 };
	const uint8_t tag[8] = { 1, 2, 3 };
	struct task_model *m = new_model(), *copy = new_model();
	size_t empty = task_model__bytes(m);
	struct buf b = { 0 }, out = { 0 };

	record__add_ksymbol(&b, 0xffff0000, 64, 1, 0, "bpf_prog_a", &t);
	record__add_ksymbol(&b, 0xffff1000, 64, 1, 0, "bpf_prog_b", &t);
	record__add_ksymbol(&b, 0xffff1000, 32, 1, 0, "bpf_prog_c", &t);
	record__add_ksymbol(&b, 0xffff0000, 64, 1, PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER, "x", &t);
	record__add_bpf_event(&b, PERF_BPF_EVENT_PROG_LOAD, 5, tag, &t);
	record__add_bpf_event(&b, PERF_BPF_EVENT_PROG_LOAD, 6, tag, &t);
	record__add_bpf_event(&b, PERF_BPF_EVENT_PROG_UNLOAD, 5, tag, &t);
	apply_all(m, &b);
	assert_int_equal(kernel_state__copy(task_model__edit_kernel(copy), task_model__kernel(m)),
			 0);
	assert_int_equal(kernel_state__emit(task_model__kernel(copy), 9, &out), 0);
	{
		const struct record_ksymbol *k = (const void *)out.data;
		const struct record_bpf_event *p = (const void *)(out.data + k->header.size);

		assert_string_equal(k->name, "bpf_prog_c");
		assert_int_equal(k->len, 32);
		assert_int_equal(p->id, 6);
		assert_int_equal(out.len, k->header.size + p->header.size);
	}
	buf__free(&out);
	record__add_ksymbol(&b, 0xffff1000, 0, 1, PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER, "", &t);
	record__add_bpf_event(&b, PERF_BPF_EVENT_PROG_UNLOAD, 6, tag, &t);
	apply_all(m, &b);
	assert_int_equal(task_model__bytes(m), empty);
	task_model__free(m);
	task_model__free(copy);
}

/* A map of data stays a map of data, and replaces the code that was mapped there before. */
static void test_data_map(void **state)
{
	const struct record_trailer t = { .time = 1 };
	const struct record_mmap2 r = {
		.header.misc = PERF_RECORD_MISC_MMAP_DATA | PERF_RECORD_MISC_USER,
		.pid = 10,
		.tid = 10,
		.start = PAGE,
		.len = PAGE,
		.prot = 3,
	};
	struct task_model *m = new_model();
	const struct record_mmap2 *o;
	struct buf b = { 0 }, out = { 0 };
	size_t off = 0;

	do_map(m, 10, 1, 1, "/code", 1);
	record__add_mmap2(&b, &r, "/data", &t);
	apply_all(m, &b);
	assert_int_equal(task_model__emit_process(m, 10, NULL, 0, 3, &out), 0);
	o = (const void *)record__next(&out, &off);
	assert_string_equal(o->filename, "/data");
	assert_int_equal(o->header.misc, r.header.misc);
	assert_null(record__next(&out, &off));
	task_model__free(m);
	buf__free(&out);
}

static void test_build_id_survives(void **state)
{
	const struct record_trailer t = { .time = 1 };
	const struct record_mmap2 r = {
		.header.misc = PERF_RECORD_MISC_MMAP_BUILD_ID | PERF_RECORD_MISC_USER,
		.pid = 10,
		.tid = 10,
		.start = PAGE,
		.len = PAGE,
		.prot = 5,
		.build_id_size = 20,
		.build_id = "abcdefghijklmnopqrs",
	};
	struct task_model *m = new_model(), *copy = new_model();
	const struct record_mmap2 *o;
	struct buf b = { 0 }, out = { 0 };

	record__add_mmap2(&b, &r, "/lib", &t);
	apply_all(m, &b);
	assert_int_equal(task_model__copy_process(copy, m, 10), 0);
	task_model__free(m);
	assert_int_equal(task_model__emit_process(copy, 10, NULL, 0, 3, &out), 0);
	o = (const void *)out.data;
	assert_int_equal(o->header.misc, r.header.misc);
	assert_int_equal(o->build_id_size, 20);
	assert_memory_equal(o->build_id, r.build_id, 20);
	buf__free(&out);
	task_model__free(copy);
}

static void test_repair(void **state)
{
	struct task_model *is = new_model(), *should = new_model();
	struct buf out = { 0 };

	do_comm(is, 0, 10, 10, "same", 1);
	do_map(is, 10, 1, 1, "/same", 1);
	do_comm(is, 0, 11, 11, "before", 1);
	do_map(is, 11, 1, 1, "/before", 1);
	do_comm(is, 0, 12, 12, "gone", 1);
	assert_int_equal(task_model__add_process(should, 10, 50), 0);
	do_comm(should, 0, 10, 10, "same", 51);
	do_map(should, 10, 1, 1, "/same", 51);
	assert_int_equal(task_model__add_process(should, 11, 60), 0);
	do_comm(should, 0, 11, 11, "after", 61);
	do_comm(should, 0, 11, 13, "thread", 61);
	do_map(should, 11, 5, 1, "/after", 61);
	assert_int_equal(task_model__emit_repair(is, should, 10, 40, &out), 0);
	assert_int_equal(out.len, 0);
	assert_int_equal(task_model__emit_repair(is, should, 11, 40, &out), 0);
	assert_int_equal(record__time((const void *)out.data), 60);
	assert_int_equal(task_model__emit_repair(is, should, 12, 40, &out), 0);
	apply_all(is, &out);
	check(is, 11, "after/11 thread/13 5-6:5 /after ");
	assert_int_equal(task_model__n_processes(is), 2);
	task_model__free(is);
	task_model__free(should);
}

/*
 * The naive model: the contents of every page. Names are single letters; pgoff is the page itself.
 */
#define N_PAGES 64
#define N_PROCS 6
struct naive {
	bool alive[N_PROCS];
	char page[N_PROCS][N_PAGES];
};

static int check_page_map(uint32_t pid, const struct map *map, void *arg)
{
	char *pages = arg;
	uint64_t p;

	assert_int_equal(map->start, map->pgoff);
	for (p = map->start / PAGE; p < map->end / PAGE; p++) {
		assert_int_equal(pages[p], 0); /* no overlap */
		pages[p] = map->file->name[1];
	}
	return 0;
}

static void compare_with_naive(const struct task_model *m, const struct naive *n)
{
	uint32_t i;

	for (i = 0; i < N_PROCS; i++) {
		char pages[N_PAGES] = { 0 };

		task_model__each_map(m, i + 1, check_page_map, pages);
		assert_int_equal(task_model__n_threads(m, i + 1), n->alive[i]);
		if (n->alive[i])
			assert_memory_equal(pages, n->page[i], N_PAGES);
	}
}

static void random_step(struct task_model *m, struct naive *n, uint64_t time)
{
	uint32_t p = rand() % N_PROCS, q = rand() % N_PROCS, at, len;
	char name[3] = { '/', 'a' + rand() % 26, 0 };

	switch (rand() % 8) {
	case 0:
		if (p == q)
			break;
		do_fork(m, p + 1, q + 1, time);
		if (n->alive[q])
			memcpy(n->page[p], n->page[q], N_PAGES);
		else
			memset(n->page[p], 0, N_PAGES);
		n->alive[p] = true;
		break;
	case 1:
		do_exit(m, p + 1, p + 1, time);
		n->alive[p] = false;
		break;
	case 2:
		do_comm(m, PERF_RECORD_MISC_COMM_EXEC, p + 1, p + 1, "x", time);
		n->alive[p] = true;
		memset(n->page[p], 0, N_PAGES);
		break;
	default:
		if (!n->alive[p])
			break;
		at = rand() % N_PAGES;
		len = rand() % (N_PAGES - at + 1);
		do_map(m, p + 1, at, len, name, time);
		memset(n->page[p] + at, name[1], len);
	}
}

static void test_random(void **state)
{
	unsigned int seed, i;

	for (seed = 0; seed < 50; seed++) {
		struct task_model *m = new_model(), *copy = new_model();
		size_t empty = task_model__bytes(copy);
		struct naive n = { 0 };

		srand(seed);
		for (i = 0; i < 400; i++) {
			random_step(m, &n, i + 1);
			compare_with_naive(m, &n);
		}
		for (i = 0; i < N_PROCS; i++)
			assert_int_equal(task_model__copy_process(copy, m, i + 1), 0);
		task_model__free(m);
		compare_with_naive(copy, &n);
		for (i = 0; i < N_PROCS; i++)
			task_model__remove_process(copy, i + 1);
		assert_int_equal(task_model__bytes(copy), empty);
		task_model__free(copy);
	}
}

static void test_too_many_maps(void **state)
{
	const struct record_trailer t = { .time = 1 };
	struct record_mmap2 r = { .pid = 1, .tid = 1, .len = 1 };
	struct task_model *m = new_model();
	struct buf b = { 0 };
	uint32_t i;

	for (i = 0; i <= MAP_LIST_MAX; i++) {
		b.len = 0;
		r.start = i * 2;
		assert_int_equal(record__add_mmap2(&b, &r, "/x", &t), 0);
		assert_int_equal(task_model__apply(m, (const void *)b.data),
				 i < MAP_LIST_MAX ? 0 : -E2BIG);
	}
	buf__free(&b);
	task_model__free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_overlay),		 cmocka_unit_test(test_exec),
		cmocka_unit_test(test_threads_and_exit), cmocka_unit_test(test_fork_shares),
		cmocka_unit_test(test_pid_reuse),	 cmocka_unit_test(test_older_than_scan),
		cmocka_unit_test(test_symbols),		 cmocka_unit_test(test_build_id_survives),
		cmocka_unit_test(test_data_map),	 cmocka_unit_test(test_repair),
		cmocka_unit_test(test_random),		 cmocka_unit_test(test_too_many_maps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
