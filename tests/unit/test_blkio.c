// SPDX-License-Identifier: GPL-2.0-only
/* blkio and blkio.device on the running kernel, with requests to a loop device of the test. */
#include <bpf/btf.h>
#include <errno.h>
#include <sched.h>

#include "detect/detectors_core.h"
#include "detect/engine/block_device.h"
#include "detect_fixture.h"
#include "loop_device.h"

#include "blkio.skel.h"

#define DISK	(16 << 20)
#define BYTES	65536
#define OFFSET	(1 << 20)
#define IO_NAME "frbpf-io"

struct io {
	const char *path;
	int (*fn)(struct io *io, int fd, void *buf);
	uint64_t begin, end;
};

static bool has_io_start(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool has = btf &&
		   btf__find_by_name_kind(btf, "btf_trace_block_io_start", BTF_KIND_TYPEDEF) > 0;

	btf__free(btf);
	return has;
}

static int write_direct(struct io *io, int fd, void *buf)
{
	return pwrite(fd, buf, BYTES, OFFSET) != BYTES;
}

static int read_direct(struct io *io, int fd, void *buf)
{
	return pread(fd, buf, BYTES, OFFSET) != BYTES;
}

static int flush(struct io *io, int fd, void *buf)
{
	return fsync(fd);
}

static int run_io(void *arg)
{
	struct io *io = arg;
	int fd = open(io->path, O_RDWR | O_DIRECT | O_CLOEXEC), r;
	void *buf;

	prctl(PR_SET_NAME, IO_NAME);
	if (fd < 0 || posix_memalign(&buf, 4096, BYTES))
		return 1;
	memset(buf, 0x5a, BYTES);
	io->begin = now_ns();
	r = io->fn(io, fd, buf);
	io->end = now_ns();
	free(buf);
	close(fd);
	return r;
}

struct scene {
	struct loop_device loop;
	struct io *io;
	struct detectors *d;
	struct rule_conf rules[3];
	uint32_t slots[3];
	size_t n;
};

/* The rule is only about the loop device. */
static void add_rule(struct scene *s, const char *when, const char *condition)
{
	char text[256];

	snprintf(text, sizeof(text), "dev == \"loop%d\"%s%s", s->loop.number,
		 condition ? " && " : "", condition ? condition : "");
	s->rules[s->n] = rule_of(s->n + 1, when, text);
	s->n++;
}

static bool begin(struct scene *s)
{
	*s = (struct scene){ .io = shared_memory(sizeof(*s->io)) };
	if (loop_device_open(&s->loop, DISK))
		return false;
	s->io->path = s->loop.path;
	return true;
}

static void load(struct scene *s)
{
	s->d = detectors_with(s->rules, s->n, s->slots);
}

static pid_t run(struct scene *s, int (*fn)(struct io *io, int fd, void *buf))
{
	pid_t pid;

	s->io->fn = fn;
	assert_int_equal(in_child(run_io, s->io, &pid), 0);
	return pid;
}

static void end(struct scene *s)
{
	detectors__free(s->d);
	for (size_t i = 0; i < s->n; i++)
		rule_free(&s->rules[i]);
	close(s->loop.fd);
	munmap(s->io, sizeof(*s->io));
}

#define BEGIN(s)                                                                                   \
	do {                                                                                       \
		SKIP_UNLESS_POSSIBLE();                                                            \
		SKIP_IF(!begin(s), "no loop devices here");                                        \
	} while (0)

static void check_issuer(const struct scene *s, const struct frbpf_trigger *t, pid_t pid)
{
	assert_int_equal(t->subject.pid, pid);
	assert_int_equal(t->subject.tid, pid);
	assert_int_equal(t->subject.uid, 0);
	assert_string_equal(t->subject.comm, IO_NAME);
	assert_string_equal(t->subject.process, IO_NAME);
	assert_int_equal(arg_value(t, FRBPF_BLKIO_DEV), FRBPF_DEV(7, s->loop.number));
	assert_in_range(t->value, 1, s->io->end - s->io->begin);
	assert_in_range(t->time, s->io->begin + t->value, s->io->end);
}

static void check_data(const struct frbpf_trigger *t, enum frbpf_blkio_op op)
{
	assert_int_equal(arg_value(t, FRBPF_BLKIO_OP), op);
	assert_int_equal(arg_value(t, FRBPF_BLKIO_SECTOR), OFFSET / 512);
	assert_int_equal(arg_value(t, FRBPF_BLKIO_BYTES), BYTES);
}

static void test_write(void **state)
{
	struct frbpf_rule_state st;
	struct scene s;
	struct sink got;
	pid_t pid;

	BEGIN(&s);
	add_rule(&s, "blkio > 1ns",
		 "op == write && flags & sync && bytes >= 65536 && sector == 2048 && comm "
		 "== " IO_NAME);
	add_rule(&s, "blkio > 1h", NULL);
	add_rule(&s, "blkio > 2ns", "op == read");
	load(&s);
	pid = run(&s, write_direct);
	got = collect(s.d, 2000);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.last.source, FRBPF_SOURCE_BLKIO);
	assert_int_equal(got.last.rule_id, 1);
	check_issuer(&s, &got.last, pid);
	check_data(&got.last, FRBPF_BLKIO_WRITE);
	assert_true(arg_value(&got.last, FRBPF_BLKIO_FLAGS) & FRBPF_BLKIO_SYNC);
	st = state_of(s.d, s.slots[0]);
	assert_int_equal(st.matched, 1);
	assert_int_equal(st.fired, 1);
	assert_int_equal(st.last_value, got.last.value);
	assert_int_equal(state_of(s.d, s.slots[1]).matched, 0);
	assert_int_equal(state_of(s.d, s.slots[2]).matched, 0);
	end(&s);
}

static void test_device_is_part_of_it(void **state)
{
	struct scene s;
	uint64_t all, device;
	struct sink got;
	pid_t pid;

	BEGIN(&s);
	add_rule(&s, "blkio > 1ns", "op == read && comm == " IO_NAME);
	add_rule(&s, "blkio.device > 1ns", "op == read && comm == " IO_NAME);
	load(&s);
	pid = run(&s, read_direct);
	got = collect(s.d, 2000);
	assert_int_equal(got.n, 2);
	check_issuer(&s, &got.v[0], pid);
	check_issuer(&s, &got.last, pid);
	check_data(&got.v[0], FRBPF_BLKIO_READ);
	check_data(&got.last, FRBPF_BLKIO_READ);
	assert_int_not_equal(got.v[0].source, got.last.source);
	all = state_of(s.d, s.slots[0]).last_value;
	device = state_of(s.d, s.slots[1]).last_value;
	/* two programs see each request's end, one after the other */
	if (got.v[0].source == FRBPF_SOURCE_BLKIO)
		assert_in_range(device, 1, all + (got.last.time - got.v[0].time));
	else
		assert_in_range(device, 1, all);
	end(&s);
}

/* The issuer is saved only for rules that need it. */
static void test_parent(void **state)
{
	char ours[64], other[64];
	struct scene s;

	BEGIN(&s);
	snprintf(ours, sizeof(ours), "op == read && ppid == %d", getpid());
	snprintf(other, sizeof(other), "op == read && ppid == %d", getppid());
	add_rule(&s, "blkio > 1ns", ours);
	add_rule(&s, "blkio.device > 1ns", ours);
	add_rule(&s, "blkio > 1ns", other);
	load(&s);
	run(&s, read_direct);
	assert_int_equal(collect(s.d, 2000).n, 2);
	assert_int_equal(state_of(s.d, s.slots[0]).matched, 1);
	assert_int_equal(state_of(s.d, s.slots[1]).matched, 1);
	assert_int_equal(state_of(s.d, s.slots[2]).matched, 0);
	end(&s);
}

/* The subject of an fsync is its caller, not the worker that sends the flush. */
static void test_flush(void **state)
{
	struct frbpf_rule_state all, device;
	struct scene s;

	BEGIN(&s);
	add_rule(&s, "blkio > 1ns", "op == flush && flags & preflush && comm == " IO_NAME);
	add_rule(&s, "blkio.device > 1ns", "op == flush");
	load(&s);
	run(&s, flush);
	device = state_of(s.d, s.slots[1]);
	all = state_of(s.d, s.slots[0]);
	if (!has_io_start()) {
		assert_int_equal(all.matched, 0);
		end(&s);
		SKIP_IF(true, "no tracepoint block_io_start: a flush has no issuer here");
	}
	assert_int_equal(all.matched, 1);
	assert_int_equal(device.matched, 1);
	/* two programs measure it, one after the other */
	assert_in_range(all.last_value, 1, s.io->end - s.io->begin);
	assert_in_range(device.last_value, 1, s.io->end - s.io->begin);
	end(&s);
}

static int dirty(struct io *io, int fd, void *buf)
{
	int plain = open(io->path, O_RDWR | O_CLOEXEC);

	return plain < 0 || pwrite(plain, buf, BYTES, OFFSET) != BYTES;
}

static int clean(void *arg)
{
	struct io *io = arg;
	int fd = open(io->path, O_RDWR | O_CLOEXEC);

	return fd < 0 || fsync(fd);
}

/* Data left in the page cache are written by whoever syncs, or by the kernel. */
static void test_subject_is_who_queues(void **state)
{
	struct scene s;
	struct sink got;
	pid_t pid, other;

	BEGIN(&s);
	add_rule(&s, "blkio > 1ns", "op == write && bytes > 0 && comm != " IO_NAME);
	load(&s);
	pid = run(&s, dirty);
	assert_int_equal(in_child(clean, s.io, &other), 0);
	got = collect(s.d, 5000);
	assert_true(got.n >= 1);
	assert_int_not_equal(got.v[0].subject.pid, pid);
	assert_int_equal(arg_value(&got.v[0], FRBPF_BLKIO_DEV), FRBPF_DEV(7, s.loop.number));
	end(&s);
}

/* While a dump is written, requests of other programs still match, and ours do not. */
static void test_while_a_dump_is_written(void **state)
{
	struct frbpf_rule_state st;
	char name[FRBPF_COMM_LEN];
	struct scene s;

	BEGIN(&s);
	add_rule(&s, "blkio > 1ns", "op == write && comm == " IO_NAME);
	load(&s);
	detectors__suppress(s.d, FRBPF_SUPPRESS_SELF, now_ns() + 3600000 * MS);
	run(&s, write_direct);
	assert_int_equal(collect(s.d, 2000).n, 1);
	st = state_of(s.d, s.slots[0]);
	assert_int_equal(st.matched, 1);
	assert_int_equal(st.suppressed[FRBPF_CAUSE_SELF], 0);
	/* this process counts as the daemon */
	prctl(PR_GET_NAME, name);
	assert_int_equal(run_io(s.io), 0);
	prctl(PR_SET_NAME, name);
	assert_int_equal(collect(s.d, 200).n, 0);
	assert_int_equal(state_of(s.d, s.slots[0]).suppressed[FRBPF_CAUSE_SELF], 1);
	end(&s);
}

static int dirty_and_clean(struct io *io, int fd, void *buf)
{
	return dirty(io, fd, buf) || clean(io);
}

/*
 * Requests of kernel threads while a dump is written: they are suppressed only if they go to our
 * disk and carry no memory of a program. A disk on top of our disk counts, too.
 */
static void test_kernel_thread_while_a_dump_is_written(void **state)
{
	struct frbpf_rule_state st;
	struct loop_device upper;
	struct scene s;

	BEGIN(&s);
	SKIP_IF(loop_device_over(&upper, s.loop.fd, LO_FLAGS_DIRECT_IO), "no disk on a disk here");
	s.io->path = upper.path;
	add_rule(&s, "blkio > 1ns", "op == write && bytes > 0");
	load(&s);
	detectors__suppress(s.d, FRBPF_SUPPRESS_SELF, now_ns() + 3600000 * MS);
	detectors__suppress(s.d, FRBPF_SUPPRESS_DISK, FRBPF_DEV(7, s.loop.number));
	run(&s, dirty_and_clean);
	assert_int_equal(collect(s.d, 200).n, 0);
	st = state_of(s.d, s.slots[0]);
	assert_true(st.matched >= 1);
	assert_int_equal(st.suppressed[FRBPF_CAUSE_SELF], st.matched);
	run(&s, write_direct);
	assert_true(collect(s.d, 5000).n >= 1);
	detectors__suppress(s.d, FRBPF_SUPPRESS_DISK, FRBPF_DEV(7, upper.number));
	run(&s, dirty_and_clean);
	assert_true(collect(s.d, 5000).n >= 1);
	close(upper.fd);
	end(&s);
}

/* Rules confined to some tasks: a request of another task does not match, whoever issues it. */
static void test_foreign_requests(void **state)
{
	struct err err = { "" };
	struct sink got;
	struct scene s;
	pid_t pid;

	BEGIN(&s);
	add_rule(&s, "blkio > 1ns", "op == write");
	add_rule(&s, "blkio.device > 1ns", "op == write");
	s.d = detectors_confined(s.rules, s.n, s.slots);
	run(&s, write_direct);
	assert_int_equal(state_of(s.d, s.slots[0]).matched, 0);
	assert_int_equal(state_of(s.d, s.slots[1]).matched, 0);
	if (detectors__include(s.d, getpid(), &err)) /* its children are included, too */
		fail_msg("%s", err.msg);
	pid = run(&s, write_direct);
	assert_int_equal(state_of(s.d, s.slots[0]).matched, 1);
	assert_int_equal(state_of(s.d, s.slots[1]).matched, 1);
	got = collect(s.d, 2000);
	check_issuer(&s, &got.last, pid);
	end(&s);
}

#define REUSED 64 /* writes: enough for some to reuse the address of an earlier request */

/* Pin to the first allowed CPU: each CPU reuses the request that was freed last. */
static int write_often(struct io *io, int fd, void *buf)
{
	cpu_set_t set, one;
	int cpu = 0;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	while (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &set))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		return 1;
	for (int i = 0; i < REUSED; i++) {
		if (write_direct(io, fd, buf))
			return 1;
	}
	return 0;
}

static void detach(struct bpf_link **link)
{
	bpf_link__destroy(*link);
	*link = NULL;
}

/* If ends, and later beginnings, are missed, no value is longer than its request took. */
static void check_lost(const char *when)
{
	struct detectors_stats stats;
	struct blkio_bpf *skel;
	struct scene s;

	BEGIN(&s);
	add_rule(&s, when, "op == write");
	load(&s);
	skel = s.d->sources[0]->skel;
	detach(&skel->links.io_complete);
	run(&s, write_often);
	skel->links.io_complete = bpf_program__attach(skel->progs.io_complete);
	assert_non_null(skel->links.io_complete);
	detach(&skel->links.io_start);
	detach(&skel->links.io_insert);
	detach(&skel->links.io_issue);
	usleep(200000);
	run(&s, write_often);
	assert_in_range(state_of(s.d, s.slots[0]).max_value, 0, s.io->end - s.io->begin);
	detectors__stats(s.d, &stats);
	assert_int_not_equal(stats.not_seen, 0);
	end(&s);
}

static void test_lost_events(void **state)
{
	check_lost("blkio > 1ns");
	check_lost("blkio.device > 1ns");
}

/* As in bpf/in_flight.bpf.h. */
struct flight {
	uint32_t busy, depth;
	uint64_t tag, last;
};

/* Fill the table with @n made-up requests. */
static void fill_flights(struct blkio_bpf *skel, uint64_t n)
{
	const struct bpf_map *map = skel->maps.flights;
	uint64_t key[FRBPF_SPAN_KEYS] = { 0 };
	union {
		struct flight flight;
		char room[1024];
	} value = { .flight.depth = 1 };

	assert_in_range(bpf_map__value_size(map), sizeof(value.flight), sizeof(value));
	assert_in_range(bpf_map__key_size(map), sizeof(key[0]), sizeof(key));
	while (key[0]++ < n)
		assert_int_equal(bpf_map_update_elem(bpf_map__fd(map), key, &value, BPF_NOEXIST),
				 0);
}

/* blkio.device without rules, while made-up requests are active. */
static struct blkio_bpf *load_table(uint64_t n)
{
	struct blkio_bpf *skel = blkio_bpf__open();

	assert_non_null(skel);
	skel->rodata->of_device = true;
	bpf_program__set_autoload(skel->progs.io_start, has_io_start());
	bpf_program__set_autoload(skel->progs.io_insert, !has_io_start());
	bpf_program__set_autoload(skel->progs.io_look, false); /* attached, it would only wait */
	bpf_program__set_autoload(skel->progs.io_stacks, false);
	assert_int_equal(blkio_bpf__load(skel), 0);
	fill_flights(skel, n);
	/* ends are attached first, as in blkio_attach() */
	skel->links.io_complete = bpf_program__attach(skel->progs.io_complete);
	skel->links.io_merge = bpf_program__attach(skel->progs.io_merge);
	assert_true(skel->links.io_complete && skel->links.io_merge);
	assert_int_equal(blkio_bpf__attach(skel), 0);
	return skel;
}

/* When the request of @key began; 0: it is not active. */
static uint64_t begun(const struct blkio_bpf *skel, const uint64_t *key)
{
	union {
		struct flight flight;
		char room[1024];
	} value;

	assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(skel->maps.flights), key, &value), 0);
	return value.flight.depth ? value.flight.last : 0;
}

/* Do all active requests end? The made-up ones, which never began, do not count. */
static bool all_end(const struct blkio_bpf *skel)
{
	uint64_t *key = NULL, keys[2][FRBPF_SPAN_KEYS], last, until = now_ns() + 5000 * MS;

	for (int i = 0; !bpf_map_get_next_key(bpf_map__fd(skel->maps.flights), key, keys[i]);
	     i = !i) {
		key = keys[i];
		last = begun(skel, key);
		while (last && begun(skel, key) == last && now_ns() < until)
			usleep(1000);
		if (last && begun(skel, key) == last)
			return false;
	}
	return true;
}

/* Write many requests at a time that the kernel cannot merge. */
static int write_scattered(struct io *io, int fd, void *buf)
{
	int plain = open(io->path, O_RDWR | O_CLOEXEC);

	for (off_t at = 0; plain >= 0 && at < DISK; at += 16384) {
		if (pwrite(plain, buf, 4096, at) != 4096)
			return 1;
	}
	return plain < 0 || fsync(plain);
}

/*
 * With as many active requests as the table promises to hold, all are measured and end. Beyond
 * that, they are counted.
 */
static void test_full(void **state)
{
	const uint32_t in_flight = FRBPF_MAX_IN_FLIGHT - 2048;
	struct blkio_bpf *skel;
	struct scene s;

	BEGIN(&s);
	skel = load_table(FRBPF_MAX_IN_FLIGHT + FRBPF_MAX_KEPT);
	run(&s, write_direct);
	assert_true(skel->bss->unmeasured > 0);
	blkio_bpf__destroy(skel);

	skel = load_table(in_flight);
	run(&s, write_scattered);
	assert_int_equal(skel->bss->unmeasured, 0);
	assert_true(all_end(skel));
	blkio_bpf__destroy(skel);
	end(&s);
}

#define READS 1000

/* Read blocks one after the other, each by a request of its own. */
static int read_blocks_in_turn(struct io *io, int fd, void *buf)
{
	for (off_t i = 0; i < READS; i++) {
		if (pread(fd, buf, 4096, i * 4096) != 4096)
			return 1;
	}
	return 0;
}

/* While one request fewer than promised is active, each request is measured. */
static void test_all_in_flight(void **state)
{
	struct scene s;

	BEGIN(&s);
	add_rule(&s, "blkio > 1ns", "op == read && comm == " IO_NAME);
	add_rule(&s, "blkio.device > 1ns", "op == read && comm == " IO_NAME);
	load(&s);
	assert_int_equal(s.d->n_sources, 2);
	for (size_t i = 0; i < s.d->n_sources; i++)
		fill_flights(s.d->sources[i]->skel, FRBPF_MAX_IN_FLIGHT - 1);
	run(&s, read_blocks_in_turn);
	assert_int_equal(state_of(s.d, s.slots[0]).matched, READS);
	assert_int_equal(state_of(s.d, s.slots[1]).matched, READS);
	end(&s);
}

static void test_instructions(void **state)
{
	struct scene s;

	BEGIN(&s);
	add_rule(&s, "blkio > 1h", NULL);
	add_rule(&s, "blkio.device > 1h", NULL);
	load(&s);
	assert_true(check_instructions("io_") >= 2);
	end(&s);
}

static void test_devices_by_name(void **state)
{
	struct loop_device loop;
	uint64_t dev = 0;
	struct err err;
	char text[64];

	assert_int_equal(block_device__find("8:16", &dev, &err), 0);
	assert_int_equal(dev, 8 << 20 | 16);
	assert_int_equal(block_device__find("nosuchdisk", &dev, &err), -ENODEV);
	assert_non_null(strstr(err.msg, "no block device \"nosuchdisk\""));
	assert_int_equal(block_device__find("/dev/null", &dev, &err), -ENOTBLK);
	assert_int_equal(block_device__find("8:99999999", &dev, &err), -ENODEV);
	assert_int_equal(block_device__find("8:1x", &dev, &err), -ENODEV);
	assert_int_equal(dev, 8 << 20 | 16);
	assert_string_equal(block_device__name(FRBPF_DEV(4000, 1), text, sizeof(text)), "4000:1");
	if (!access("/sys/class/block/zram0/dev", F_OK)) {
		assert_int_equal(block_device__find("zram0", &dev, &err), -EINVAL);
		assert_non_null(strstr(err.msg, "never gets a request"));
	}
	SKIP_IF(geteuid() || loop_device_open(&loop, DISK), "no loop devices here");
	assert_int_equal(block_device__find(loop.path, &dev, &err), 0);
	assert_int_equal(dev, FRBPF_DEV(7, loop.number));
	assert_int_equal(block_device__find(loop.path + 5, &dev, &err), 0);
	assert_int_equal(dev, FRBPF_DEV(7, loop.number));
	assert_string_equal(block_device__name(dev, text, sizeof(text)), loop.path + 5);
	close(loop.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_device_is_part_of_it),
		cmocka_unit_test(test_flush),
		cmocka_unit_test(test_parent),
		cmocka_unit_test(test_subject_is_who_queues),
		cmocka_unit_test(test_while_a_dump_is_written),
		cmocka_unit_test(test_kernel_thread_while_a_dump_is_written),
		cmocka_unit_test(test_foreign_requests),
		cmocka_unit_test(test_lost_events),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_all_in_flight),
		cmocka_unit_test(test_instructions),
		cmocka_unit_test(test_devices_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
