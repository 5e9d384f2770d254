// SPDX-License-Identifier: GPL-2.0-only
/*
 * Feeds the fold with a stream that was recorded from a kernel. At every cut of time, log, base and
 * slice must agree about each process with a second model. That model is simple enough to be
 * obviously right.
 *	test_sideband_stream			tests with data/sideband.rec
 *	test_sideband_stream --record FILE	records that file again: root
 */
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "perfdata/record.h"
#include "sideband/sideband_log.h"
#include "sideband/sideband_ring.h"
#include "sideband/slice_draft.h"

#define STREAM "tests/unit/data/sideband.rec"
#define CUTS   60

/* ---- the simple model: reads the whole stream for every question ---- */

#define TASKS_MAX 512
#define MAPS_MAX  256

struct simple_map {
	uint64_t start, end, pgoff;
	char name[64];
};

struct simple_task { /* a thread; maps belong to the leader */
	uint32_t pid, tid;
	char comm[16];
};

struct simple_process {
	uint32_t pid;
	struct simple_map maps[MAPS_MAX];
	size_t n;
};

struct simple {
	struct simple_task tasks[TASKS_MAX];
	size_t n_tasks;
	struct simple_process processes[TASKS_MAX];
	size_t n_processes;
};

static struct simple_process *simple_process(struct simple *s, uint32_t pid)
{
	for (size_t i = 0; i < s->n_processes; i++)
		if (s->processes[i].pid == pid)
			return &s->processes[i];
	assert_true(s->n_processes < TASKS_MAX);
	s->processes[s->n_processes] = (struct simple_process){ .pid = pid };
	return &s->processes[s->n_processes++];
}

static const char *simple_comm(const struct simple *s, uint32_t pid, uint32_t tid)
{
	for (size_t i = 0; i < s->n_tasks; i++)
		if (s->tasks[i].pid == pid && s->tasks[i].tid == tid)
			return s->tasks[i].comm;
	return "";
}

/* @tid 0: all of @pid */
static void simple_remove(struct simple *s, uint32_t pid, uint32_t tid)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_tasks; i++)
		if (s->tasks[i].pid != pid || (tid && s->tasks[i].tid != tid))
			s->tasks[n++] = s->tasks[i];
	s->n_tasks = n;
}

static void simple_name(struct simple *s, uint32_t pid, uint32_t tid, const char *comm)
{
	struct simple_task t = { .pid = pid, .tid = tid };

	snprintf(t.comm, sizeof(t.comm), "%s", comm);
	simple_remove(s, pid, tid);
	assert_true(s->n_tasks < TASKS_MAX);
	s->tasks[s->n_tasks++] = t;
}

static void simple_fork(struct simple *s, const struct record_task *r)
{
	char comm[16];

	snprintf(comm, sizeof(comm), "%s", simple_comm(s, r->ppid, r->ptid));
	if (r->pid != r->ppid) {
		struct simple_process *child = simple_process(s, r->pid);

		simple_remove(s, r->pid, 0);
		*child = *simple_process(s, r->ppid);
		child->pid = r->pid;
	}
	simple_name(s, r->pid, r->tid, comm);
}

static void simple_mmap(struct simple *s, const struct record_mmap2 *r)
{
	struct simple_process *p = simple_process(s, r->pid), old = *p;
	struct simple_map m = { r->start, r->start + r->len, r->pgoff, "" };

	snprintf(m.name, sizeof(m.name), "%.63s", r->filename);
	p->n = 0;
	for (size_t i = 0; i < old.n; i++) {
		struct simple_map left = old.maps[i], right = old.maps[i];

		assert_true(p->n + 3 < MAPS_MAX);
		if (left.end > m.start)
			left.end = m.start;
		if (left.start < left.end)
			p->maps[p->n++] = left;
		if (right.start < m.end) {
			right.pgoff += m.end - right.start;
			right.start = m.end;
		}
		if (right.start < right.end && right.start >= m.end)
			p->maps[p->n++] = right;
	}
	p->maps[p->n++] = m;
}

static void simple_apply(struct simple *s, const struct perf_event_header *h)
{
	const struct record_comm *comm = (const void *)h;
	const struct record_task *task = (const void *)h;

	switch (h->type) {
	case PERF_RECORD_COMM:
		if (h->misc & PERF_RECORD_MISC_COMM_EXEC) {
			simple_remove(s, comm->pid, 0);
			simple_process(s, comm->pid)->n = 0;
		}
		simple_name(s, comm->pid, comm->tid, comm->comm);
		break;
	case PERF_RECORD_FORK:
		simple_fork(s, task);
		break;
	case PERF_RECORD_EXIT:
		simple_remove(s, task->pid, task->tid);
		break;
	case PERF_RECORD_MMAP2:
		simple_mmap(s, (const void *)h);
		break;
	}
}

static int compare_maps(const void *a, const void *b)
{
	const struct simple_map *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static int compare_tasks(const void *a, const void *b)
{
	const struct sideband_task *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* The living threads, sorted. */
static size_t simple_living(const struct simple *s, struct sideband_task *ret)
{
	for (size_t i = 0; i < s->n_tasks; i++)
		ret[i] = (struct sideband_task){ s->tasks[i].pid, s->tasks[i].tid };
	qsort(ret, s->n_tasks, sizeof(*ret), compare_tasks);
	return s->n_tasks;
}

/* ---- the state as text, from either model ---- */

static void show_comm(struct buf *b, uint32_t pid, uint32_t tid, const char *comm)
{
	if (comm[0])
		assert_int_equal(buf__printf(b, "%u/%u %s\n", pid, tid, comm), 0);
}

static void show_map(struct buf *b, uint32_t pid, const struct simple_map *m)
{
	assert_int_equal(buf__printf(b, "%u %" PRIx64 "-%" PRIx64 " %" PRIx64 " %.63s\n", pid,
				     m->start, m->end, m->pgoff, m->name),
			 0);
}

/* What records say about @task's process: comm of the thread, and maps with the leader. */
static void show_records(struct buf *b, const struct buf *records, uint64_t before,
			 const struct sideband_task *t, bool maps)
{
	const struct perf_event_header *h;

	for (size_t off = 0; off < records->len; off += h->size) {
		const struct record_mmap2 *map;
		const struct record_comm *comm;
		struct simple_map m;

		h = (const void *)(records->data + off);
		comm = (const void *)h;
		map = (const void *)h;
		assert_true(record__valid(h, records->len - off));
		if (record__time(h) >= before)
			break;
		if (h->type == PERF_RECORD_COMM && comm->pid == t->pid && comm->tid == t->tid)
			show_comm(b, t->pid, t->tid, comm->comm);
		if (!maps || h->type != PERF_RECORD_MMAP2 || map->pid != t->pid)
			continue;
		m = (struct simple_map){ map->start, map->start + map->len, map->pgoff, "" };
		snprintf(m.name, sizeof(m.name), "%.63s", map->filename);
		show_map(b, t->pid, &m);
	}
}

static void show_simple(struct buf *b, struct simple *s, const struct sideband_task *t, bool maps)
{
	struct simple_process *p = simple_process(s, t->pid);

	show_comm(b, t->pid, t->tid, simple_comm(s, t->pid, t->tid));
	qsort(p->maps, p->n, sizeof(*p->maps), compare_maps);
	for (size_t i = 0; maps && i < p->n; i++)
		show_map(b, t->pid, &p->maps[i]);
}

/* ---- the stream ---- */

struct stream {
	struct buf bytes;
	const struct perf_event_header **v; /* in order of arrival, here also in order of time */
	size_t n;
};

static int load_stream(void **state)
{
	struct stream *s = calloc(1, sizeof(*s));
	const struct perf_event_header *h;

	assert_non_null(s);
	if (buf__read_file(&s->bytes, STREAM, 1 << 20))
		fail_msg("no %s: run from the root of the tree", STREAM);
	s->v = calloc(s->bytes.len / sizeof(*h), sizeof(*s->v));
	for (size_t off = 0; off < s->bytes.len; off += h->size) {
		h = (const void *)(s->bytes.data + off);
		assert_true(record__valid(h, s->bytes.len - off));
		assert_true(!s->n || record__time(s->v[s->n - 1]) <= record__time(h));
		s->v[s->n++] = h;
	}
	*state = s;
	return 0;
}

static int free_stream(void **state)
{
	struct stream *s = *state;

	free(s->v);
	buf__free(&s->bytes);
	free(s);
	return 0;
}

/* The time of cut @i: between two records of different times. */
static uint64_t cut(const struct stream *s, size_t i)
{
	return record__time(s->v[(i + 1) * (s->n - 1) / CUTS]);
}

static struct simple *simple_at(const struct stream *s, uint64_t time)
{
	struct simple *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	for (size_t i = 0; i < s->n && record__time(s->v[i]) < time; i++)
		simple_apply(m, s->v[i]);
	return m;
}

/* @records: the state just before @time */
static void compare(struct simple *m, const struct buf *records, uint64_t time)
{
	struct sideband_task tasks[TASKS_MAX];
	size_t n = simple_living(m, tasks);
	struct buf is = { 0 }, wanted = { 0 };

	assert_int_equal(buf__add_str(&is, ""), 0);
	assert_int_equal(buf__add_str(&wanted, ""), 0);
	for (size_t i = 0; i < n; i++) {
		bool first = !i || tasks[i - 1].pid != tasks[i].pid;

		show_simple(&wanted, m, &tasks[i], first);
		show_records(&is, records, time, &tasks[i], first);
	}
	assert_string_equal(is.data, wanted.data);
	buf__free(&is);
	buf__free(&wanted);
}

static void apply(const struct perf_event_header *rec, void *arg)
{
	assert_int_equal(task_model__apply(arg, rec), 0);
}

/* ---- tests ---- */

/* The stream contains what it was recorded for. */
static void test_content(void **state)
{
	const struct stream *s = *state;
	size_t n[22] = { 0 }, execs = 0, threads = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct record_task *task = (const void *)s->v[i];

		n[s->v[i]->type]++;
		execs += s->v[i]->type == PERF_RECORD_COMM &&
			 s->v[i]->misc & PERF_RECORD_MISC_COMM_EXEC;
		threads += s->v[i]->type == PERF_RECORD_FORK && task->pid == task->ppid;
	}
	assert_true(s->bytes.len < 100000);
	assert_true(n[PERF_RECORD_FORK] > 20 && n[PERF_RECORD_EXIT] > 20);
	assert_true(execs > 10 && threads > 5 && n[PERF_RECORD_MMAP2] > 60);
}

/* All records, applied directly to the model. */
static void test_model(void **state)
{
	const struct stream *s = *state;

	for (size_t c = 0; c < CUTS; c++) {
		uint64_t time = cut(s, c);
		struct simple *m = simple_at(s, time);
		struct sideband_task tasks[TASKS_MAX];
		size_t n = simple_living(m, tasks), i;
		struct task_model *model;
		struct buf records = { 0 };

		assert_int_equal(task_model__new(&model), 0);
		for (i = 0; i < s->n && record__time(s->v[i]) < time; i++)
			apply(s->v[i], model);
		for (i = 0; i < n; i++)
			if (!i || tasks[i - 1].pid != tasks[i].pid)
				assert_int_equal(task_model__emit_process(model, tasks[i].pid, NULL,
									  0, 1, &records),
						 0);
		compare(m, &records, time);
		buf__free(&records);
		task_model__free(model);
		free(m);
	}
}

/* The window has the records of the requested tasks in the stream, complete and in order. */
static void compare_window(const struct stream *s, const struct buf *records,
			   const struct sideband_request *req)
{
	const struct perf_event_header *h;
	size_t off = 0, i = 0;

	while (off < records->len) {
		h = (const void *)(records->data + off);
		off += h->size;
		if (record__time(h) < req->start)
			continue;
		while (i < s->n && (record__time(s->v[i]) < req->start ||
				    s->v[i]->size != h->size || memcmp(s->v[i], h, h->size) != 0))
			i++;
		assert_true(i < s->n); /* not invented, and not out of order */
		i++;
	}
	/* and all of the first task are there */
	for (i = 0; i < s->n && req->n_tasks; i++) {
		const struct record_comm *r = (const void *)s->v[i];

		if (record__time(s->v[i]) < req->start || record__time(s->v[i]) > req->end ||
		    s->v[i]->type == PERF_RECORD_KSYMBOL ||
		    s->v[i]->type == PERF_RECORD_BPF_EVENT || r->pid != req->tasks[0].pid)
			continue;
		assert_non_null(memmem(records->data, records->len, s->v[i], s->v[i]->size));
	}
}

static void check_slice(const struct stream *s, const struct task_model *base,
			const struct sideband_log *log, uint64_t start)
{
	struct simple *m = simple_at(s, start);
	struct sideband_task tasks[TASKS_MAX];
	const struct sideband_request req = {
		.tasks = tasks,
		.n_tasks = simple_living(m, tasks),
		.start = start,
		.end = start + (record__time(s->v[s->n - 1]) - start) / 2,
	};
	const struct kernel_maps none = { 0 };
	struct sideband_slice slice = { 0 };
	struct sideband_log_view view;
	struct map_build_ids *ids;
	struct slice_draft *d;

	assert_int_equal(map_build_ids__new(NULL, &ids), 0);
	assert_int_equal(sideband_log__view(log, &view), 0);
	assert_int_equal(slice_draft__new(base, &view, &req, false, &d), 0);
	sideband_log_view__free(&view);
	assert_int_equal(slice_draft__finish(d, &none, &none, ids, &slice), 0);
	compare(m, &slice.records, start);
	compare_window(s, &slice.records, &req);
	slice_draft__free(d);
	map_build_ids__free(ids);
	for (size_t i = 0; i < slice.n_build_ids; i++)
		free(slice.build_ids[i].name);
	free(slice.build_ids);
	buf__free(&slice.records);
	free(m);
}

/*
 * All records are in the log, which is folded step by step. After each step, slices that begin
 * there and later are checked.
 */
static void test_fold_and_slice(void **state)
{
	const struct stream *s = *state;
	struct sideband_log *log;
	struct task_model *base;
	size_t i;

	assert_int_equal(task_model__new(&base), 0);
	assert_int_equal(sideband_log__new(0, &log), 0);
	for (i = 0; i < s->n; i++)
		assert_int_equal(sideband_log__append(log, s->v[i]), 0);
	for (i = 0; i < CUTS - 2; i++) {
		sideband_log__fold(log, cut(s, i), apply, base);
		check_slice(s, base, log, cut(s, i));
		check_slice(s, base, log, cut(s, i + (CUTS - i) / 2));
	}
	sideband_log__free(log);
	task_model__free(base);
}

/* ---- recording ---- */

static const char script[] =
	"for i in 1 2 3 4 5; do /bin/true; sh -c 'exec sh -c \"exec /bin/true\"'; done;"
	"(sleep 0.05; /bin/ls / | /bin/cat) >/dev/null; perl -e 'fork; fork' 2>/dev/null;"
	"for i in 1 2; do \"$0\" --threads; done; /bin/true";

static void *idle_thread(void *arg)
{
	pthread_setname_np(pthread_self(), arg);
	return arg;
}

static int run_threads(void)
{
	static char *const names[] = { "one", "two", "three", "four" };
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, idle_thread, names[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

struct recorder {
	struct sideband_log *log;
	uint32_t pids[TASKS_MAX];
	size_t n_pids;
};

static void record_one(const struct perf_event_header *rec, void *arg)
{
	struct recorder *r = arg;

	if (sideband_log__append(r->log, rec))
		abort();
}

static bool is_ours(struct recorder *r, const struct perf_event_header *h)
{
	const struct record_task *t = (const void *)h;
	bool ours = false;

	for (size_t i = 0; i < r->n_pids; i++)
		ours |= r->pids[i] == t->pid ||
			(h->type == PERF_RECORD_FORK && r->pids[i] == t->ppid);
	if (ours && h->type == PERF_RECORD_FORK && r->n_pids < TASKS_MAX)
		r->pids[r->n_pids++] = t->pid;
	return ours && h->type != PERF_RECORD_KSYMBOL && h->type != PERF_RECORD_BPF_EVENT &&
	       h->type != PERF_RECORD_CGROUP;
}

static int record_stream(const char *self, const char *file)
{
	struct recorder r = { .pids = { getpid() }, .n_pids = 1 };
	size_t n_cpus = sysconf(_SC_NPROCESSORS_ONLN), n;
	struct sideband_ring rings[64];
	struct perf_event_attr attr;
	struct sideband_log_view view;
	struct sideband_ref *refs;
	struct err err;
	FILE *out = fopen(file, "we");
	pid_t child;

	sideband_ring__init_attr(&attr, 1 << 20, false);
	if (!out || n_cpus > 64 || sideband_log__new(0, &r.log))
		return 1;
	for (size_t c = 0; c < n_cpus; c++)
		if (sideband_ring__open(&rings[c], c, &attr, 1 << 20, &err))
			return fprintf(stderr, "%s\n", err.msg), 1;
	child = fork();
	if (!child) {
		execl("/bin/sh", "sh", "-c", script, self, NULL);
		_exit(127);
	}
	waitpid(child, NULL, 0);
	for (size_t c = 0; c < n_cpus; c++)
		if (sideband_ring__drain(&rings[c], record_one, &r))
			return fprintf(stderr, "lost records\n"), 1;
	if (sideband_log__view(r.log, &view) ||
	    sideband_log_view__sorted(&view, 0, UINT64_MAX, &refs, &n))
		return 1;
	for (size_t i = 0; i < n; i++)
		if (is_ours(&r, refs[i].rec) && !fwrite(refs[i].rec, refs[i].rec->size, 1, out))
			return 1;
	return fclose(out) != 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_content),
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_fold_and_slice),
	};

	if (argc == 2 && !strcmp(argv[1], "--threads"))
		return run_threads();
	if (argc == 3 && !strcmp(argv[1], "--record"))
		return record_stream(argv[0], argv[2]);
	return cmocka_run_group_tests(tests, load_stream, free_stream);
}
