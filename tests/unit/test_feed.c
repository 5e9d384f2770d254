// SPDX-License-Identifier: GPL-2.0-only
/*
 * BPF programs that write into events of sessions. They write owners of locks when a wait begins,
 * time of interrupts, and time off CPU.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "detect_fixture.h"

#include "common/cpus.h"
#include "common/forward_ring.h"
#include "detect/feed/feed.h"
#include "fed_records.h"

#define TYPE	   1234
#define CPUS	   512
#define RING_BYTES (64 << 10)
#define NET_RX	   3 /* include/linux/interrupt.h */

/* An event per CPU, into which the programs write. */
struct events {
	int fds[CPUS];
	struct forward_ring rings[CPUS];
	size_t n;
};

static void events_open(struct events *e, struct feed *f, enum feed_kind kind)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_BPF_OUTPUT,
		.size = sizeof(attr),
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_RAW,
	};
	int *cpus;

	assert_int_equal(cpus__online(&cpus, &e->n), 0);
	assert_true(e->n <= CPUS);
	for (size_t i = 0; i < e->n; i++) {
		e->fds[i] = syscall(SYS_perf_event_open, &attr, -1, cpus[i], -1, 0);
		assert_true(e->fds[i] >= 0);
		assert_int_equal(forward_ring__map(e->fds[i], RING_BYTES, &e->rings[i]), 0);
		assert_int_equal(feed__send(f, kind, cpus[i], e->fds[i]), 0);
	}
	free(cpus);
}

static void events_close(struct events *e)
{
	for (size_t i = 0; i < e->n; i++) {
		forward_ring__unmap(&e->rings[i]);
		close(e->fds[i]);
	}
}

struct wanted {
	uint32_t what, owner;
	int found;
};

static void look_for_lock_wait(const struct perf_event_header *h, void *arg)
{
	struct wanted *want = arg;
	struct {
		struct perf_event_header header;
		uint32_t raw_size;
		struct frbpf_lock_wait wait;
	} __attribute__((packed)) r;

	if (h->type != PERF_RECORD_SAMPLE || h->size < sizeof(r))
		return;
	memcpy(&r, h, sizeof(r));
	assert_int_equal(r.wait.common.type, TYPE);
	want->found += r.wait.what == want->what && r.wait.owner == want->owner;
}

/* Wait for the event. If it never comes, the test runner ends the test. */
static void await_event(struct events *e, struct wanted *want)
{
	static struct forward_record record;

	while (!want->found) {
		for (size_t i = 0; i < e->n; i++)
			assert_true(forward_ring__drain(&e->rings[i], &record, look_for_lock_wait,
							want));
		usleep(1000);
	}
}

/* A child waits for a lock of its parent, until it is killed. */
static int wait_for_flock(void *arg)
{
	int fd = open(arg, O_RDWR);

	return flock(fd, LOCK_EX);
}

static int wait_for_record_lock(void *arg)
{
	struct flock l = { .l_type = F_WRLCK };
	int fd = open(arg, O_RDWR);

	return fcntl(fd, F_SETLKW, &l);
}

/* The second of two waiters is queued behind the first. Its owner is the holder, too. */
static void owner_of_file_locks(void **state)
{
	static const struct {
		enum frbpf_lock kind;
		int (*wait)(void *path);
	} rows[] = {
		{ FRBPF_LOCK_FLOCK, wait_for_flock },
		{ FRBPF_LOCK_FLOCK, wait_for_flock },
		{ FRBPF_LOCK_POSIX, wait_for_record_lock },
		{ FRBPF_LOCK_POSIX, wait_for_record_lock },
	};
	char path[] = "/tmp/frbpf-feed-XXXXXX";
	struct flock l = { .l_type = F_WRLCK };
	pid_t waiters[ARRAY_SIZE(rows)];
	int fd = mkstemp(path);
	struct events e;
	struct err err;
	struct feed *f;

	SKIP_UNLESS_POSSIBLE();
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(fcntl(fd, F_SETLK, &l), 0);
	assert_int_equal(feed__new(&f), 0);
	assert_int_equal(feed__load(f, FEED_LOCK_WAIT, TYPE, &err), 0);
	events_open(&e, f, FEED_LOCK_WAIT);
	assert_int_equal(feed__attach(f, &err), 0);
	assert_true(check_instructions("lw_") >= 2);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct wanted want = { rows[i].kind, getpid() };

		waiters[i] = fork();
		if (!waiters[i])
			_exit(rows[i].wait(path));
		await_event(&e, &want);
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(kill(waiters[i], SIGKILL), 0);
		assert_int_equal(waitpid(waiters[i], NULL, 0), waiters[i]);
	}
	feed__free(f);
	events_close(&e);
	unlink(path);
	close(fd);
}

/* Sums of many short softirqs, and single long ones */
struct softirqs {
	int sums, longs;
};

static void on_interrupt(const struct perf_event_header *h, void *arg)
{
	struct softirqs *got = arg;
	struct {
		struct perf_event_header header;
		uint32_t raw_size;
		struct frbpf_interrupt i;
	} __attribute__((packed)) r;

	if (h->type != PERF_RECORD_SAMPLE || h->size < sizeof(r))
		return;
	memcpy(&r, h, sizeof(r));
	assert_int_equal(r.i.common.type, TYPE);
	assert_in_range(r.i.soft, 0, 1);
	assert_true(r.i.times >= 1);
	if (r.i.times == 1)
		assert_true(r.i.ns >= 10000);
	assert_true(memchr(r.i.name, '\0', sizeof(r.i.name)));
	if (r.i.soft)
		assert_string_equal(r.i.name, "");
	else if (r.i.times == 1)
		assert_string_not_equal(r.i.name, "");
	if (!r.i.soft || r.i.number != NET_RX)
		return;
	got->sums += r.i.times > 1;
	got->longs += r.i.times == 1;
}

/* Each packet to this machine is received in a softirq of its sender. */
static void send_packets(int fd, const struct sockaddr_in *to)
{
	for (int i = 0; i < 1000; i++)
		assert_int_equal(sendto(fd, "x", 1, 0, (const struct sockaddr *)to, sizeof(*to)),
				 1);
}

static void time_of_softirqs(void **state)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	static struct forward_record record;
	struct softirqs got = { 0 };
	socklen_t len = sizeof(to);
	struct events e;
	struct err err;
	struct feed *f;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	SKIP_UNLESS_POSSIBLE();
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&to, &len), 0);
	assert_int_equal(feed__new(&f), 0);
	assert_int_equal(feed__load(f, FEED_INTERRUPT, TYPE, &err), 0);
	assert_string_equal(feed__lacking(f), "");
	events_open(&e, f, FEED_INTERRUPT);
	assert_int_equal(feed__attach(f, &err), 0);
	assert_true(check_instructions("in_") >= 4);
	/* on an emulated machine each softirq may be long */
	while (!got.sums && got.longs < 1000) {
		send_packets(fd, &to);
		for (size_t i = 0; i < e.n; i++)
			assert_true(forward_ring__drain(&e.rings[i], &record, on_interrupt, &got));
	}
	feed__free(f);
	events_close(&e);
	close(fd);
}

/* An inherited event is refused: a program cannot write into it. */
static void not_into_inherited_events(void **state)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_BPF_OUTPUT,
		.size = sizeof(attr),
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_RAW,
		.inherit = 1,
	};
	struct err err;
	struct feed *f;
	int fd;

	SKIP_UNLESS_POSSIBLE();
	assert_int_equal(feed__new(&f), 0);
	assert_int_equal(feed__load(f, FEED_LOCK_WAIT, TYPE, &err), 0);
	fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0);
	assert_true(fd >= 0);
	assert_int_equal(feed__send(f, FEED_LOCK_WAIT, 0, fd), -EOPNOTSUPP);
	assert_int_equal(feed__send(f, FEED_LOCK_WAIT, 1 << 20, fd), -E2BIG);
	/* this program is not loaded: nothing is written */
	assert_int_equal(feed__send(f, FEED_INTERRUPT, 0, fd), 0);
	close(fd);
	feed__free(f);
	feed__free(NULL);
}

#define SLEEP_NS 30000000
#define LEAST_NS (SLEEP_NS / 2) /* the timer runs before the task leaves its CPU */

struct sleeper {
	pid_t pid;
	int go; /* write to it: the process sleeps, and then exits */
};

static void sleep_when_told(int fd, bool in_child)
{
	const struct timespec t = { .tv_nsec = SLEEP_NS };
	char c;

	if (read(fd, &c, 1) != 1)
		_exit(1);
	if (in_child && fork()) {
		wait(NULL);
		_exit(0);
	}
	nanosleep(&t, NULL);
	_exit(0);
}

/* @in_child: a child of the process sleeps instead. */
static struct sleeper sleeper_start(bool in_child)
{
	struct sleeper s;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	s.pid = fork();
	if (!s.pid)
		sleep_when_told(fds[0], in_child);
	assert_true(s.pid > 0);
	close(fds[0]);
	s.go = fds[1];
	return s;
}

static void sleeper_finish(struct sleeper *s)
{
	assert_int_equal(write(s->go, "x", 1), 1);
	close(s->go);
	assert_int_equal(waitpid(s->pid, NULL, 0), s->pid);
}

/* Times off CPU of at least LEAST_NS */
struct sleeps {
	pid_t pid;
	int own, others; /* of @pid; of other tasks */
	int with_kernel, with_user, shorter;
};

static void on_off_cpu(const struct perf_event_header *h, void *arg)
{
	struct sleeps *got = arg;
	struct {
		struct perf_event_header header;
		uint32_t raw_size;
		struct frbpf_off_cpu r;
	} __attribute__((packed)) s;

	if (h->type != PERF_RECORD_SAMPLE)
		return;
	memcpy(&s, h, h->size < sizeof(s) ? h->size : sizeof(s));
	assert_int_equal(s.raw_size, FRBPF_OFF_CPU_HEAD + 8 * ((size_t)s.r.n_kernel + s.r.n_user));
	got->with_kernel += s.r.n_kernel > 0;
	got->with_user += s.r.n_user > 0;
	got->shorter += s.r.ns < LEAST_NS;
	got->own += (pid_t)s.r.pid == got->pid && s.r.ns >= LEAST_NS;
	got->others += (pid_t)s.r.pid != got->pid && s.r.ns >= LEAST_NS;
}

/* Record two tasks, of which @o may choose one. */
static struct sleeps record_sleeps(const struct feed_off_cpu *o, bool in_child)
{
	struct sleeper one = sleeper_start(in_child), two = sleeper_start(false);
	struct sleeps got = { .pid = one.pid };
	static struct forward_record record;
	struct events e;
	struct err err;
	struct feed *f;
	size_t more;

	assert_int_equal(feed__new(&f), 0);
	if (feed__load_off_cpu(f, o, &err))
		fail_msg("%s", err.msg);
	assert_string_equal(feed__lacking(f), "");
	events_open(&e, f, o->sampled ? FEED_OFF_CPU_SAMPLED : FEED_OFF_CPU);
	assert_int_equal(feed__attach(f, &err), 0);
	assert_true(check_instructions("ot_") >= 3);
	assert_int_equal(feed__mark(f, &one.pid, o->of_tasks, &more), 0);
	assert_true(more >= 1);
	assert_int_equal(feed__mark(f, &one.pid, o->of_tasks, &more), 0);
	if (o->of_tasks)
		assert_int_equal(more, 0);
	sleeper_finish(&one);
	sleeper_finish(&two);
	for (size_t i = 0; i < e.n; i++)
		assert_true(forward_ring__drain(&e.rings[i], &record, on_off_cpu, &got));
	feed__free(f);
	events_close(&e);
	return got;
}

/* A task that is preempted until its timer has expired does not sleep. Then try again. */
static struct sleeps record_own_sleep(const struct feed_off_cpu *o, bool in_child)
{
	struct sleeps got = { 0 };

	for (int i = 0; i < 20 && !got.own; i++)
		got = record_sleeps(o, in_child);
	return got;
}

/* Other tasks of the machine may add to the sleepers of the test. */
static void time_off_cpu_of_all(void **state)
{
	const struct feed_off_cpu o = { .least_ns = LEAST_NS };
	struct sleeps got;

	SKIP_UNLESS_POSSIBLE();
	got = record_own_sleep(&o, false);
	assert_true(got.own >= 1);
	assert_true(got.others >= 1);
	assert_int_equal(got.shorter, 0);
	assert_true(got.with_kernel >= 2);
	assert_true(got.with_user >= 2);
}

static void time_off_cpu_of_tasks(void **state)
{
	struct feed_off_cpu o = { .of_tasks = true, .no_kernel = true };
	struct sleeps got;

	SKIP_UNLESS_POSSIBLE();
	got = record_own_sleep(&o, false);
	assert_true(got.own >= 1);
	assert_int_equal(got.others, 0);
	assert_int_equal(got.with_kernel, 0);
	o = (struct feed_off_cpu){ .of_tasks = true, .no_user = true };
	got = record_own_sleep(&o, true); /* the parent waits for its child that long */
	assert_true(got.own >= 1);
	assert_int_equal(got.others, 0);
	assert_int_equal(got.with_user, 0);
	o = (struct feed_off_cpu){ .of_tasks = true, .inherits = true };
	do { /* the child waits as long, and is another task */
		got = record_own_sleep(&o, true);
		assert_true(got.own >= 1);
	} while (!got.others);
}

/* This process is in the cgroup with id 1, the root, and in no cgroup with the largest id. */
static void time_off_cpu_of_cgroups(void **state)
{
	const uint64_t none = UINT64_MAX, root = 1;
	struct feed_off_cpu o = { .cgroups = &none, .n_cgroups = 1 };
	struct sleeps got;

	SKIP_UNLESS_POSSIBLE();
	got = record_sleeps(&o, false);
	assert_int_equal(got.own + got.others, 0);
	o.cgroups = &root;
	got = record_own_sleep(&o, false);
	assert_true(got.own >= 1);
}

/*
 * When sampled, short waits and those of kernel threads also leave records, and long waits always
 * do.
 */
static void samples_of_waits(void **state)
{
	const struct feed_off_cpu o = { .sampled = true };
	struct sleeps got;

	SKIP_UNLESS_POSSIBLE();
	got = record_own_sleep(&o, false);
	assert_true(got.own >= 1);
	assert_true(got.others >= 1);
	assert_true(got.with_kernel >= 2);
	assert_true(got.with_user >= 2);
}

static void answer_twice(int in, int out)
{
	char c;

	while (read(in, &c, 1) == 1)
		if (write(out, &c, 1) != 1)
			_exit(1);
	_exit(0);
}

/* Count the listed sleeps of @pid that lasted at @time. All of them must have kernel stacks. */
static int count_asleep(struct feed *f, uint64_t time, pid_t pid)
{
	struct buf b = { 0 };
	uint64_t lost;
	int n = 0;

	assert_int_equal(feed__asleep(f, time, &b, &lost), 0);
	assert_int_equal(lost, 0);
	for (size_t at = 0; at < b.len;) {
		struct frbpf_asleep a = { 0 };

		memcpy(&a, b.data + at, FRBPF_ASLEEP_HEAD);
		assert_in_range(a.size, FRBPF_ASLEEP_HEAD, sizeof(a));
		at += a.size;
		if ((pid_t)a.off_cpu.tid != pid)
			continue;
		assert_true(a.off_cpu.ns < time);
		assert_true(a.off_cpu.n_kernel);
		n++;
	}
	buf__free(&b);
	return n;
}

/* A process that sleeps, except when it answers; it ends when @in is closed. */
struct answerer {
	pid_t pid;
	int in, out;
};

static void answerer_start(struct answerer *s)
{
	int in[2], out[2];

	assert_int_equal(pipe(in) | pipe(out), 0);
	s->pid = fork();
	if (!s->pid) {
		close(in[1]);
		answer_twice(in[0], out[1]);
	}
	assert_true(s->pid > 0);
	close(in[0]);
	close(out[1]);
	s->in = in[1];
	s->out = out[0];
}

static void answerer_answers(struct answerer *s)
{
	char c;

	assert_int_equal(write(s->in, "x", 1) + read(s->out, &c, 1), 2);
}

static void answerer_ends(struct answerer *s)
{
	close(s->in);
	assert_int_equal(waitpid(s->pid, NULL, 0), s->pid);
	close(s->out);
}

/* Freeze when @s has slept for long enough. Returns that time. */
static uint64_t freeze_asleep(struct feed *f, struct answerer *s)
{
	uint64_t time;

	answerer_answers(s);
	do {
		usleep(1000);
		time = now_ns();
		feed__freeze_begins(f, time);
	} while (!count_asleep(f, time, s->pid));
	feed__freeze_begins(f, time + 1);
	feed__frozen(f, time + 1);
	return time;
}

static struct feed *feed_of_sleeps(void)
{
	const struct feed_off_cpu o = { .sampled = true };
	struct err err;
	struct feed *f;
	size_t more;

	assert_int_equal(feed__new(&f), 0);
	assert_int_equal(feed__load_off_cpu(f, &o, &err), 0);
	assert_int_equal(feed__attach(f, &err), 0);
	assert_int_equal(feed__mark(f, NULL, 0, &more), 0);
	return f;
}

/* The rings lack a sleep that began before a freeze and ended after it. */
static void sleeps_that_span_a_freeze(void **state)
{
	struct answerer s;
	struct feed *f;
	uint64_t time;

	SKIP_UNLESS_POSSIBLE();
	f = feed_of_sleeps();
	answerer_start(&s);
	time = freeze_asleep(f, &s);
	/* two sleeps from its second answer on, long enough to be written, do not count */
	for (int i = 0; i < 2; i++) {
		answerer_answers(&s);
		usleep(1000);
	}
	assert_int_equal(count_asleep(f, time, s.pid), 1);
	/* one that has not ended, and is listed at each freeze */
	for (int i = 0; i < 2; i++) {
		feed__freeze_begins(f, now_ns());
		assert_int_equal(count_asleep(f, now_ns(), s.pid), 1);
	}
	answerer_ends(&s);
	feed__free(f);
}

static void task_ends_before_its_sleep_is_listed(void **state)
{
	struct answerer s;
	struct feed *f;
	uint64_t time;

	SKIP_UNLESS_POSSIBLE();
	f = feed_of_sleeps();
	answerer_start(&s);
	time = freeze_asleep(f, &s);
	answerer_ends(&s);
	assert_int_equal(count_asleep(f, time, s.pid), 1);
	/* not at the next freeze */
	feed__freeze_begins(f, now_ns());
	assert_int_equal(count_asleep(f, now_ns(), s.pid), 0);
	feed__free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owner_of_file_locks),
		cmocka_unit_test(time_of_softirqs),
		cmocka_unit_test(not_into_inherited_events),
		cmocka_unit_test(time_off_cpu_of_all),
		cmocka_unit_test(time_off_cpu_of_tasks),
		cmocka_unit_test(time_off_cpu_of_cgroups),
		cmocka_unit_test(samples_of_waits),
		cmocka_unit_test(sleeps_that_span_a_freeze),
		cmocka_unit_test(task_ends_before_its_sleep_is_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
