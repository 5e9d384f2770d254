// SPDX-License-Identifier: GPL-2.0-only
/*
 * The side band on the running kernel: processes come and go, and slices must have them. Needs root
 * (or CAP_PERFMON).
 */
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/clock.h"
#include "perfdata/record.h"
#include "sideband/build_id_probe.h"
#include "sideband/sideband.h"
#include "sideband/sideband_ring.h"

#include "kernel_map_name.h"
#include "sideband_fixture.h"

static void test_attr(void **state)
{
	struct sideband *sb = open_sideband(&(struct sideband_opts){ 0 });
	const struct perf_event_attr *a = sideband__attr(sb);
	const uint64_t *ids;
	size_t n, i;

	assert_int_equal(a->size, 128);
	assert_true(a->sample_type == RECORD_SAMPLE_TYPE && a->sample_id_all && a->use_clockid);
	ids = sideband__ids(sb, &n);
	assert_int_equal(n, sysconf(_SC_NPROCESSORS_ONLN));
	for (i = 0; i < n; i++)
		assert_true(ids[i] && (!i || ids[i] != ids[i - 1]));
	sideband__free(sb);
	sideband__free(NULL);
}

/* A process is born, executes a program and ends within the window. */
static void test_in_window(void **state)
{
	struct sideband *sb = start_sideband(&(struct sideband_opts){ .rt_priority = 2 });
	uint64_t start = now_ns();
	struct sideband_slice *s;
	const struct record_mmap *kernel;
	uint32_t pid = spawn("/bin/true");

	reap(pid);
	s = slice_of(sb, &pid, 1, start, now_ns());
	assert_false(s->incomplete);
	assert_non_null(find_record(s, PERF_RECORD_FORK, pid, NULL));
	assert_non_null(find_record(s, PERF_RECORD_COMM, pid, "true"));
	assert_non_null(find_record(s, PERF_RECORD_EXIT, pid, NULL));
	assert_mapped(s, pid, "/true");
	assert_mapped(s, pid, "libc");
	/* its parent is there although not requested: the child has its maps until the exec */
	assert_non_null(find_record(s, PERF_RECORD_COMM, getpid(), NULL));
	assert_non_null(find_record(s, PERF_RECORD_MMAP2, getpid(), "test_sideband"));
	assert_true(record__time(find_record(s, PERF_RECORD_COMM, getpid(), NULL)) < start);
	kernel = (const void *)s->records.data; /* comes first, unless addresses are hidden */
	if (kernel->header.type == PERF_RECORD_MMAP) {
		assert_string_equal(kernel->filename, kernel_map_name());
		assert_true(s->n_build_ids > 0 && s->build_ids[0].kernel);
	}
	sideband_slice__free(s);
	sideband__free(sb);
}

/* A process that is older than the rings is known from /proc. */
static void test_before_open(void **state)
{
	struct sideband_slice *s;
	struct sideband *sb;
	uint64_t start;
	int in[2], out[2];
	uint32_t pid;
	pid_t child;
	char c;

	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	child = fork();
	if (child == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		execl("/bin/cat", "cat", NULL);
		_exit(127);
	}
	assert_int_equal(write(in[1], "x", 1), 1);
	assert_int_equal(read(out[0], &c, 1), 1); /* cat runs */
	sb = start_sideband(&(struct sideband_opts){ 0 });
	start = now_ns();
	pid = child;
	s = slice_of(sb, &pid, 1, start, now_ns());
	assert_false(s->incomplete);
	assert_non_null(find_record(s, PERF_RECORD_COMM, pid, "cat"));
	assert_mapped(s, pid, "/cat");
	assert_true(record__time(find_record(s, PERF_RECORD_COMM, pid, "cat")) < start);
	assert_non_null(find_record(s, PERF_RECORD_NAMESPACES, pid, NULL));
	assert_null(find_record(s, PERF_RECORD_COMM, getpid(), NULL)); /* not asked for */
	assert_null(find_record(s, PERF_RECORD_FORK, pid, NULL));
	sideband_slice__free(s);
	close(in[1]);
	reap(child);
	/* once more after its end: there is its earlier state, and its EXIT */
	s = slice_of(sb, &pid, 1, start, now_ns());
	assert_mapped(s, pid, "/cat");
	assert_non_null(find_record(s, PERF_RECORD_EXIT, pid, NULL));
	sideband_slice__free(s);
	/* a window that begins before the recording */
	s = slice_of(sb, &pid, 1, start - 1000000000, now_ns());
	assert_true(s->incomplete);
	sideband_slice__free(s);
	sideband__free(sb);
}

/*
 * A process is forked before the window, by a parent that is not requested. It has two execs in the
 * window.
 */
static void test_exec_chain(void **state)
{
	static const char script[] = "echo; read x; exec /bin/sh -c 'read y; exec /bin/cat'";
	struct sideband *sb = start_sideband(&(struct sideband_opts){ 0 });
	struct sideband_slice *s;
	uint64_t start, first_exec;
	int in[2], out[2];
	uint32_t pid;
	pid_t child;
	char c;

	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	child = fork();
	if (child == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		prctl(PR_SET_NAME, "before-exec");
		assert_int_equal(write(1, "f", 1), 1);
		assert_int_equal(read(0, &c, 1), 1);
		execl("/bin/sh", "sh", "-c", script, NULL);
		_exit(127);
	}
	pid = child;
	assert_int_equal(read(out[0], &c, 1), 1);
	start = now_ns();
	assert_int_equal(write(in[1], "x", 1), 1);
	assert_int_equal(read(out[0], &c, 1), 1); /* the first sh runs */
	first_exec = now_ns();
	assert_int_equal(write(in[1], "\n\nz", 3), 3);
	assert_int_equal(read(out[0], &c, 1), 1); /* cat runs */
	assert_int_equal(c, 'z');
	s = slice_of(sb, &pid, 1, start, now_ns());
	/* at the start of the window the child has our maps */
	assert_true(record__time(find_record(s, PERF_RECORD_COMM, pid, "before-exec")) < start);
	assert_true(record__time(find_record(s, PERF_RECORD_MMAP2, pid, "test_sideband")) < start);
	assert_true(record__time(find_record(s, PERF_RECORD_COMM, pid, "sh")) > start);
	assert_true(record__time(find_record(s, PERF_RECORD_COMM, pid, "cat")) > first_exec);
	assert_mapped(s, pid, "/cat");
	sideband_slice__free(s);
	/* a window that begins between the execs */
	s = slice_of(sb, &pid, 1, first_exec, now_ns());
	assert_null(find_record(s, PERF_RECORD_COMM, pid, "before-exec"));
	assert_null(find_record(s, PERF_RECORD_MMAP2, pid, "test_sideband"));
	assert_true(record__time(find_record(s, PERF_RECORD_COMM, pid, "sh")) < first_exec);
	sideband_slice__free(s);
	/* a window that ends before: it lacks the second exec */
	s = slice_of(sb, &pid, 1, start, first_exec);
	assert_null(find_record(s, PERF_RECORD_COMM, pid, "cat"));
	sideband_slice__free(s);
	close(in[1]);
	reap(child);
	sideband__free(sb);
}

/* The kernel's own NAMESPACES record equals what the scan made of /proc. */
static void test_namespaces_agree(void **state)
{
	struct sideband *sb = start_sideband(&(struct sideband_opts){ 0 });
	const struct record_namespaces *kernel, *scanned;
	uint64_t start = now_ns();
	struct sideband_slice *s;
	uint32_t pid = spawn("/bin/true");

	reap(pid);
	s = slice_of(sb, &pid, 1, start, now_ns());
	kernel = (const void *)find_record(s, PERF_RECORD_NAMESPACES, pid, NULL);
	scanned = (const void *)find_record(s, PERF_RECORD_NAMESPACES, getpid(), NULL);
	if (!kernel || !scanned)
		skip();
	assert_int_equal(kernel->nr, scanned->nr);
	assert_memory_equal(kernel->ns, scanned->ns, kernel->nr * sizeof(kernel->ns[0]));
	sideband_slice__free(s);
	sideband__free(sb);
}

/* The memory that all living tasks of this machine need. */
static size_t bytes_of_the_living(void)
{
	const struct sideband_opts opts = { .memory = 256 << 20 };
	struct sideband *sb = start_sideband(&opts);
	struct sideband_stats stats;

	sideband__stats(sb, &stats);
	sideband__free(sb);
	return stats.model_bytes;
}

/* Many forks with little memory: the limit holds, living processes keep their names. */
static void test_memory_bound(void **state)
{
	const struct sideband_opts opts = { .memory = bytes_of_the_living() + (1 << 20) };
	struct sideband *sb = start_sideband(&opts);
	struct sideband_stats stats;
	struct sideband_slice *s;
	uint32_t self = getpid(), i;
	uint64_t start;

	for (i = 0; i < 1500; i++)
		reap(spawn("/bin/true"));
	start = now_ns();
	s = slice_of(sb, &self, 1, start, now_ns());
	/* records that its thread has just read are folded a moment later */
	for (i = 0; i < 1000; i++) {
		sideband__stats(sb, &stats);
		if (stats.log_bytes + stats.model_bytes <= opts.memory)
			break;
		usleep(10000);
	}
	assert_true(stats.folded > 0);
	assert_true(stats.log_bytes + stats.model_bytes <= opts.memory);
	assert_false(s->incomplete);
	assert_non_null(find_record(s, PERF_RECORD_COMM, self, NULL));
	assert_non_null(find_record(s, PERF_RECORD_MMAP2, self, "test_sideband"));
	sideband_slice__free(s);
	sideband__free(sb);
}

struct followed {
	atomic_ullong from, asked;
};

static uint64_t needed_from(void *arg)
{
	struct followed *f = arg;

	atomic_fetch_add(&f->asked, 1);
	return atomic_load(&f->from);
}

static void wait_for_questions(struct followed *f, uint64_t n)
{
	uint64_t before = atomic_load(&f->asked), i;

	for (i = 0; i < 3000 && atomic_load(&f->asked) < before + n; i++)
		usleep(10000);
	assert_true(atomic_load(&f->asked) >= before + n);
}

/* The log keeps only what is needed, even with enough memory. */
static void test_follow(void **state)
{
	const struct sideband_opts opts = { .memory = 64 << 20, .follow_interval = 1 };
	struct sideband *sb = start_sideband(&opts);
	static struct followed f; /* still called if the test fails */
	struct sideband_stats stats, before;
	struct sideband_slice *s;
	uint32_t self = getpid(), last = 0, i;
	uint64_t start = 0;

	for (i = 0; i < 1000; i++) {
		if (i == 500) { /* drained, so that no chunk has records of both halves */
			sideband_slice__free(slice_of(sb, &self, 1, now_ns(), now_ns()));
			start = now_ns();
		}
		last = spawn("/bin/true");
		reap(last);
	}
	s = slice_of(sb, &self, 1, start, now_ns()); /* all is in the log */
	sideband_slice__free(s);
	sideband__follow(sb, needed_from, &f);
	wait_for_questions(&f, 2); /* f.from is still 0, unknown: nothing is folded */
	sideband__stats(sb, &before);
	assert_int_equal(before.folded, 0);
	atomic_store(&f.from, start);
	/* other processes write into it all the time */
	for (i = 0, stats = before; i < 3000 && (!stats.folded || stats.log_bytes >= stats.bytes);
	     i++) {
		usleep(10000);
		sideband__stats(sb, &stats);
	}
	assert_true(stats.folded > 0);
	assert_true(stats.log_bytes < stats.bytes);
	/* the needed window is complete, an earlier one is not */
	s = slice_of(sb, &last, 1, start, now_ns());
	assert_false(s->incomplete);
	assert_non_null(find_record(s, PERF_RECORD_FORK, last, NULL));
	assert_mapped(s, last, "/true");
	sideband_slice__free(s);
	s = slice_of(sb, &self, 1, start, now_ns());
	assert_true(record__time(find_record(s, PERF_RECORD_MMAP2, self, "test_sideband")) < start);
	sideband_slice__free(s);
	/* a function that was replaced is not called any more */
	sideband__follow(sb, NULL, NULL);
	i = atomic_load(&f.asked);
	s = slice_of(sb, &self, 1, start, now_ns());
	sideband_slice__free(s);
	sideband__free(sb);
	assert_int_equal(atomic_load(&f.asked), i);
}

/* A ring of one page overflows: the loss is counted, and /proc is read again. */
static void test_loss_is_repaired(void **state)
{
	const struct sideband_opts opts = { .ring_bytes = 4096 };
	struct sideband *sb = open_sideband(&opts);
	struct sideband_stats stats;
	struct sideband_slice *s;
	uint32_t pid, i;
	struct err err;
	uint64_t start;
	int in[2], out[2];
	char c;

	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	assert_int_equal(sideband__scan(sb, &err), 0);
	for (i = 0; i < 100; i++) /* nobody drains yet */
		reap(spawn("/bin/true"));
	pid = fork();
	if (pid == 0) {
		close(in[1]);
		prctl(PR_SET_NAME, "unheard");
		_exit(write(out[1], "r", 1) != 1 || read(in[0], &c, 1));
	}
	assert_int_equal(read(out[0], &c, 1), 1);
	assert_int_equal(sideband__start(sb, &err), 0);
	s = slice_of(sb, &pid, 1, now_ns(), now_ns());
	assert_true(s->lost > 0);
	assert_true(s->incomplete);
	sideband_slice__free(s);
	for (i = 0; i < 600; i++) {
		usleep(50000);
		sideband__stats(sb, &stats);
		if (stats.rescans)
			break;
	}
	assert_true(stats.rescans > 0);
	start = now_ns();
	s = slice_of(sb, &pid, 1, start, start);
	assert_non_null(find_record(s, PERF_RECORD_COMM, pid, "unheard"));
	assert_non_null(find_record(s, PERF_RECORD_MMAP2, pid, "test_sideband"));
	sideband_slice__free(s);
	close(in[1]);
	reap(pid);
	sideband__free(sb);
}

/* Build ids only of files with hits. */
static void test_pages(void **state)
{
	struct sideband *sb = start_sideband(&(struct sideband_opts){ 0 });
	uint32_t self = getpid();
	const struct sideband_task task = { self, self };
	const struct sideband_page pages[] = {
		{ self, (uintptr_t)test_pages >> SIDEBAND_PAGE_SHIFT },
		{ self + 1, (uintptr_t)strlen >> SIDEBAND_PAGE_SHIFT }, /* of another process */
	};
	const struct sideband_request req = {
		.tasks = &task,
		.n_tasks = 1,
		.pages = pages,
		.n_pages = 2,
		.start = now_ns(),
		.end = now_ns(),
	};
	struct sideband_slice *s;
	struct err err;
	size_t i, ours = 0;

	assert_int_equal(sideband__slice(sb, &req, &err, &s), 0);
	for (i = 0; i < s->n_build_ids; i++) {
		ours += strstr(s->build_ids[i].name, "test_sideband") != NULL;
		assert_true(s->build_ids[i].kernel ||
			    strstr(s->build_ids[i].name, "test_sideband"));
	}
	assert_int_equal(ours, 1);
	sideband_slice__free(s);
	sideband__free(sb);
}

struct seen {
	size_t n;
	uint64_t time[4];
	uint16_t size[4], misc[4];
};

static void see(const struct perf_event_header *rec, void *arg)
{
	struct seen *s = arg;

	assert_true(s->n < 4);
	s->time[s->n] = record__time(rec);
	s->size[s->n] = rec->size;
	s->misc[s->n++] = rec->misc;
}

/*
 * Traces that other events leave in records: the build id bit without a build id, and room for
 * another trailer. The ring is made up: a real event with build_id would damage the records of
 * everybody.
 */
static void test_mended(void **state)
{
	const struct record_trailer t = { .time = 7, .id = 1 };
	const struct record_mmap2 mmap2 = {
		.header.misc = PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID,
		.maj = 0xfe,
		.ino = 5,
	};
	static const char stale[RECORD_TRAILER_SIZE] = "what was there before";
	const size_t size = sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *page = calloc(2, size);
	struct sideband_ring ring = { .ring = { page, size }, .fd = -1 };
	struct perf_event_header *h;
	struct seen seen = { 0 };
	struct buf b = { 0 };
	size_t off, real;

	assert_non_null(page);
	assert_int_equal(record__add_mmap2(&b, &mmap2, "/bin/x", &t), 0);
	off = b.len;
	assert_int_equal(record__add_ksymbol(&b, 1, 2, 1, 0, "symbol_name", &t), 0);
	real = b.len - off;
	assert_int_equal(buf__add(&b, stale, sizeof(stale)), 0);
	h = (void *)(b.data + off);
	h->size += sizeof(stale);
	off = b.len;
	assert_int_equal(record__add_bpf_event(&b, 1, 3, (const uint8_t *)"12345678", &t), 0);
	assert_int_equal(buf__add(&b, stale, sizeof(stale)), 0);
	h = (void *)(b.data + off);
	h->size += sizeof(stale);
	assert_int_equal(record__add_comm(&b, 0, 1, 1, "x", &t), 0);
	memcpy((char *)page + size, b.data, b.len);
	page->data_head = b.len;
	assert_int_equal(sideband_ring__drain(&ring, see, &seen), 0);
	assert_int_equal(seen.n, 4);
	assert_int_equal(page->data_tail, b.len);
	for (off = 0; off < 4; off++)
		assert_int_equal(seen.time[off], 7);
	assert_int_equal(seen.misc[0], PERF_RECORD_MISC_USER);
	assert_int_equal(seen.size[1], real);
	assert_int_equal(seen.size[2], sizeof(struct record_bpf_event) + RECORD_TRAILER_SIZE);
	buf__free(&b);
	free(page);
}

/*
 * An event like `perf record` opens, on this thread and before the probe. On kernels with the stale
 * build id bit, it must not get that bit.
 */
static void test_probe_disturbs_nobody(void **state)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = PERF_ATTR_SIZE_VER7,
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		.mmap = 1,
		.mmap2 = 1,
	};
	size_t page = sysconf(_SC_PAGESIZE);
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct perf_event_mmap_page *ring;
	const struct perf_event_header *h;
	uint64_t off, heard = 0;
	void *p;

	if (fd < 0)
		skip();
	ring = mmap(NULL, 5 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(ring != MAP_FAILED && exe >= 0);
	print_message("build ids by the kernel: %s\n", build_id_probe__is_clean() ? "yes" : "no");
	p = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, exe, 0); /* it must record this */
	assert_true(p != MAP_FAILED);
	for (off = 0; off < ring->data_head; off += h->size) {
		h = (const void *)((const char *)ring + page + off);
		assert_true(h->size >= sizeof(*h) && off + h->size <= 4 * page);
		assert_false(h->misc & PERF_RECORD_MISC_MMAP_BUILD_ID);
		heard += h->type == PERF_RECORD_MMAP2;
	}
	assert_true(heard > 0);
	munmap(p, page);
	munmap(ring, 5 * page);
	close(exe);
	close(fd);
}

/* A slice has all tasks, requested or not. */
static void test_all_tasks(void **state)
{
	struct sideband *sb = start_sideband(&(struct sideband_opts){ .all = true });
	uint64_t start = now_ns();
	uint32_t pid = spawn("/bin/true");
	struct sideband_slice *s;

	reap(pid);
	s = slice_of(sb, NULL, 0, start, now_ns());
	assert_non_null(find_record(s, PERF_RECORD_COMM, getpid(), NULL));
	assert_non_null(find_record(s, PERF_RECORD_MMAP2, getpid(), "test_sideband"));
	assert_non_null(find_record(s, PERF_RECORD_COMM, pid, "true"));
	assert_non_null(find_record(s, PERF_RECORD_EXIT, pid, NULL));
	sideband_slice__free(s);
	sideband__free(sb);
}

/*
 * A task is still sampled between its EXIT and its last switch. A window that begins there must
 * have its name.
 */
static void test_name_after_exit(void **state)
{
	struct sideband *sb = start_sideband(&(struct sideband_opts){ 0 });
	struct sideband_slice *s;
	uint32_t pid = spawn("/bin/true");
	uint64_t start;

	reap(pid);
	start = now_ns();
	s = slice_of(sb, &pid, 1, start, start);
	assert_non_null(find_record(s, PERF_RECORD_COMM, pid, "true"));
	assert_null(find_record(s, PERF_RECORD_MMAP2, pid, NULL));
	sideband_slice__free(s);
	sideband__free(sb);
}

/* The journal of a mounted file system is written by a kernel thread. */
static pid_t mount_journal(const char *dir)
{
	char command[512];
	pid_t pid = 0;
	FILE *f;

	snprintf(command, sizeof(command),
		 "cd %s && truncate -s 16M image && mkfs.ext4 -q image && mkdir m && "
		 "mount -o loop image m && dev=$(findmnt -no SOURCE m) && "
		 "pgrep -x jbd2/${dev#/dev/}-8",
		 dir);
	f = popen(command, "r");
	if (!f || fscanf(f, "%d", &pid) != 1)
		pid = 0;
	if (f)
		pclose(f);
	return pid;
}

static void test_kernel_threads(void **state)
{
	struct sideband *sb;
	struct sideband_slice *s;
	char dir[] = "/tmp/frbpf-test.XXXXXX", command[64];
	uint64_t start;
	uint32_t pid;

	if (geteuid() || unshare(CLONE_NEWNS) || mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		skip();
	sb = start_sideband(&(struct sideband_opts){ 0 });
	start = now_ns();
	assert_non_null(mkdtemp(dir));
	pid = mount_journal(dir);
	if (pid) {
		s = slice_of(sb, &pid, 1, start, now_ns());
		assert_non_null(find_record(s, PERF_RECORD_FORK, pid, NULL));
		assert_non_null(find_record(s, PERF_RECORD_COMM, pid, "jbd2/"));
		sideband_slice__free(s);
	}
	snprintf(command, sizeof(command), "cd / && umount %s/m; rm -rf %s", dir, dir);
	if (system(command))
		print_message("%s was not taken away\n", dir);
	sideband__free(sb);
	if (!pid)
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attr),
		cmocka_unit_test(test_in_window),
		cmocka_unit_test(test_before_open),
		cmocka_unit_test(test_exec_chain),
		cmocka_unit_test(test_namespaces_agree),
		cmocka_unit_test(test_memory_bound),
		cmocka_unit_test(test_follow),
		cmocka_unit_test(test_loss_is_repaired),
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_mended),
		cmocka_unit_test(test_probe_disturbs_nobody),
		cmocka_unit_test(test_all_tasks),
		cmocka_unit_test(test_name_after_exit),
		cmocka_unit_test(test_kernel_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
