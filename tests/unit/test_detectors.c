// SPDX-License-Identifier: GPL-2.0-only
/*
 * The detectors on the running kernel: real waits, real system calls, real triggers. Skips without
 * root or kernel BTF. Whatever is to be measured runs in a child: our own process is never a
 * subject.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/bpf.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "detect/engine/cgroups.h"
#include "detect/engine/load_error.h"
#include "detect_fixture.h"

#define REFUSED 99 /* exit status: not allowed here */
/*
 * A call that nobody else makes: of the numbers that no 64-bit table has, so it fails with ENOSYS.
 * Several of these tests may run on a machine at once.
 */
#define RARE_CALL	(RARE_CALL_FIRST + test_pid() % 80)
#define RARE_CALL_FIRST 340
#define COMPAT_CALL	SYS_sched_get_priority_max /* of the 32-bit table: writev */

/* rules */

static struct rule_conf runqlat_rule(uint64_t id, uint64_t threshold)
{
	return (struct rule_conf){
		.id = id,
		.when = { .source = FRBPF_SOURCE_RUNQLAT, .threshold = threshold },
	};
}

static struct rule_conf syscall_rule(uint64_t id, long nr, uint64_t threshold)
{
	struct rule_conf r = {
		.id = id,
		.when = { .source = FRBPF_SOURCE_SYSCALL, .threshold = threshold },
	};

	r.when.keys[nr / 64] |= 1ULL << (nr % 64);
	return r;
}

static void add_node(struct rule_conf *r, enum frbpf_field field, enum frbpf_op op, uint64_t val,
		     unsigned int flags)
{
	r->expr.nodes[r->expr.n_nodes++] =
		(struct frbpf_node){ .field = field, .op = op, .flags = flags, .val = { val } };
}

static void add_name(struct rule_conf *r, enum frbpf_field field, enum frbpf_op op,
		     const char *name, unsigned int flags)
{
	struct frbpf_node *n = &r->expr.nodes[r->expr.n_nodes++];
	char word[FRBPF_COMM_LEN] = "";

	snprintf(word, sizeof(word), "%s", name);
	*n = (struct frbpf_node){ .field = field, .op = op, .flags = flags };
	memcpy(n->val, word, sizeof(word));
}

/* A rule for those that call themselves so. @condition may be NULL. */
static struct rule_conf rule_when(uint64_t id, const char *when, const char *condition)
{
	char text[256];

	snprintf(text, sizeof(text), "comm == %s%s%s%s", subject_name(), condition ? " && (" : "",
		 condition ? condition : "", condition ? ")" : "");
	return rule_of(id, when, text);
}

/* detectors */

static uint64_t held_back(const struct frbpf_rule_state *st)
{
	uint64_t sum = 0;

	for (int i = 0; i < FRBPF_CAUSE_MAX; i++)
		sum += st->suppressed[i];
	return sum;
}

/* workloads */

/* What a child found out about itself. */
struct findings {
	uint64_t begin, end;
	pid_t pid, tid;
	int ready;
};

static void set_name(const char *name)
{
	prctl(PR_SET_NAME, name);
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		_exit(1);
}

static void make_rare_calls(struct findings *f, long n)
{
	set_name("frbpf-rare");
	for (long i = 0; i < n; i++)
		syscall(RARE_CALL, SCHED_FIFO);
}

/* In a thread, so that thread and process differ. */
static void *nap_thread(void *arg)
{
	const struct timespec ts = { .tv_nsec = 50 * MS };
	struct findings *f = arg;

	set_name("frbpf-thread");
	f->pid = getpid();
	f->tid = gettid();
	f->begin = now_ns();
	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL);
	f->end = now_ns();
	return NULL;
}

static void nap(struct findings *f, long arg)
{
	pthread_t t;

	set_name("frbpf-leader");
	if (pthread_create(&t, NULL, nap_thread, f) || pthread_join(t, NULL))
		_exit(1);
}

static int wake_pipe[2];

static void wait_for_cpu(struct findings *f, long cpu)
{
	char c;

	pin(cpu);
	set_name("frbpf-waiter");
	f->pid = f->tid = getpid();
	__atomic_store_n(&f->ready, 1, __ATOMIC_SEQ_CST);
	if (read(wake_pipe[0], &c, 1) != 1)
		_exit(1);
	f->end = now_ns();
}

/* Wake the waiter, and keep the CPU from it. */
static void hog_cpu(struct findings *f, long cpu)
{
	struct sched_param param = { .sched_priority = 1 };
	uint64_t end;

	pin(cpu);
	set_name("frbpf-hog");
	if (sched_setscheduler(0, SCHED_FIFO, &param))
		_exit(REFUSED);
	f->begin = now_ns();
	if (write(wake_pipe[1], "x", 1) != 1)
		_exit(1);
	end = now_ns() +
	      30 * MS; /* from the wake-up on, also where a hypervisor has stopped us before it */
	while (now_ns() < end)
		;
}

/* tests */

/* Until it really is asleep: a busy machine may have kept it from that so far. */
static void await_sleep(pid_t tid)
{
	char path[64], text[512];
	const char *state;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
	do {
		usleep(1000);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
		assert_true(n > 0);
		text[n] = '\0';
		state = strrchr(text, ')');
		assert_non_null(state);
	} while (strncmp(state, ") S", 3));
}

/* Make a task wait 30 ms for @cpu, one that existed before the rule or not. 0, or REFUSED. */
static int wait_behind_hog(struct detectors *d, const struct rule_conf *r, uint32_t *slot,
			   struct findings *f, int cpu, bool load_first)
{
	pid_t waiter;
	int status;

	assert_int_equal(pipe(wake_pipe), 0);
	if (load_first)
		update(d, r, 1, slot);
	waiter = spawn(wait_for_cpu, f, cpu);
	while (!__atomic_load_n(&f->ready, __ATOMIC_SEQ_CST))
		usleep(1000);
	await_sleep(f->tid);
	if (!load_first)
		update(d, r, 1, slot);
	status = await(spawn(hog_cpu, f, cpu));
	if (status == REFUSED)
		kill(waiter, SIGKILL);
	else
		assert_int_equal(status, 0);
	assert_int_equal(await(waiter), status == REFUSED ? -SIGKILL : 0);
	close(wake_pipe[0]);
	close(wake_pipe[1]);
	return status;
}

static void check_runqlat(bool load_first)
{
	int cpu = sysconf(_SC_NPROCESSORS_ONLN) - 1;
	struct rule_conf r = runqlat_rule(1, 20 * MS);
	struct findings *f = shared_memory(sizeof(*f));
	struct detectors *d = open_detectors();
	struct detectors_stats stats;
	struct sink s;
	uint32_t slot;

	r.cooldown.window = 10000 * MS;
	add_name(&r, FRBPF_FIELD_COMM, FRBPF_OP_EQ, "frbpf-waiter", 0);
	add_name(&r, FRBPF_FIELD_COMM, FRBPF_OP_NE, "frbpf-waiter",
		 FRBPF_NODE_CURRENT | FRBPF_NODE_END);
	if (wait_behind_hog(d, &r, &slot, f, cpu, load_first) == REFUSED) {
		detectors__free(d);
		print_message("skipped: SCHED_FIFO is refused here\n");
		skip();
	}
	s = collect(d, 2000);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.last.tag, FRBPF_TAG_TRIGGER);
	assert_int_equal(s.last.source, FRBPF_SOURCE_RUNQLAT);
	assert_int_equal(s.last.rule_id, 1);
	assert_int_equal(s.last.slot, slot);
	assert_int_equal(s.last.cpu, cpu);
	assert_int_equal(s.last.threshold, 20 * MS);
	assert_in_range(s.last.value, 30 * MS, f->end - f->begin);
	assert_in_range(s.last.time, f->begin + s.last.value, f->end);
	assert_int_equal(s.last.subject.pid, f->pid);
	assert_int_equal(s.last.subject.tid, f->tid);
	assert_int_equal(s.last.subject.uid, 0);
	assert_string_equal(s.last.subject.comm, "frbpf-waiter");
	assert_string_equal(s.last.subject.process, "frbpf-waiter");
	assert_int_not_equal(s.last.current.tid, f->tid);
	detectors__stats(d, &stats);
	assert_int_equal(stats.malformed, 0);
	detectors__free(d);
	munmap(f, sizeof(*f));
}

static void test_runqlat_of_new_task(void **state)
{
	SKIP_UNLESS_POSSIBLE();
	check_runqlat(true);
}

static void test_runqlat_of_old_task(void **state)
{
	SKIP_UNLESS_POSSIBLE();
	check_runqlat(false);
}

static void test_syscall(void **state)
{
	struct rule_conf r = syscall_rule(2, SYS_clock_nanosleep, 40 * MS);
	struct findings *f = shared_memory(sizeof(*f));
	struct detectors *d;
	struct sink s;
	uint32_t slot;

	SKIP_UNLESS_POSSIBLE();
	d = open_detectors();
	add_name(&r, FRBPF_FIELD_PROCESS, FRBPF_OP_EQ, "frbpf-leader", FRBPF_NODE_END);
	update(d, &r, 1, &slot);
	assert_int_equal(await(spawn(nap, f, 0)), 0);
	s = collect(d, 2000);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.last.source, FRBPF_SOURCE_SYSCALL);
	assert_int_equal(s.last.key, SYS_clock_nanosleep);
	assert_int_equal(s.last.ret, 0);
	assert_in_range(s.last.value, 50 * MS, f->end - f->begin);
	assert_in_range(s.last.time, f->begin + s.last.value, f->end);
	assert_int_equal(s.last.subject.pid, f->pid);
	assert_int_equal(s.last.subject.tid, f->tid);
	assert_int_not_equal(f->pid, f->tid);
	assert_string_equal(s.last.subject.comm, "frbpf-thread");
	assert_string_equal(s.last.subject.process, "frbpf-leader");
	assert_memory_equal(&s.last.subject, &s.last.current, sizeof(s.last.subject));
	/* where it was: in the kernel, called from this program */
	assert_int_equal(s.n_stacks, 1);
	assert_int_equal(s.stacks.time, s.last.time);
	assert_int_equal(s.stacks.cpu, s.last.cpu);
	assert_true(s.stacks.n_kernel > 1);
	assert_true(s.stacks.n_user >= 1);
	for (uint32_t i = 0; i < s.stacks.n_kernel; i++)
		assert_true((int64_t)s.stacks.kernel[i] < 0);
	for (uint32_t i = 0; i < s.stacks.n_user; i++)
		assert_true((int64_t)s.stacks.user[i] > 0);
	detectors__free(d);
	munmap(f, sizeof(*f));
}

enum { N_PREDICATES = 14 };

/* Of each pair the first must match, the second must not. */
static void fill_predicates(struct rule_conf *r, pid_t child)
{
	const unsigned int end = FRBPF_NODE_END;

	for (int i = 0; i < N_PREDICATES; i++)
		r[i] = syscall_rule(100 + i, RARE_CALL, 0);
	add_name(&r[0], FRBPF_FIELD_COMM, FRBPF_OP_EQ, "frbpf-rare", end);
	add_name(&r[1], FRBPF_FIELD_COMM, FRBPF_OP_EQ, "frbpf-rar", end);
	add_name(&r[2], FRBPF_FIELD_COMM, FRBPF_OP_NE, "frbpf-rarer", FRBPF_NODE_CURRENT | end);
	add_name(&r[3], FRBPF_FIELD_PROCESS, FRBPF_OP_NE, "frbpf-rare", end);
	add_node(&r[4], FRBPF_FIELD_PID, FRBPF_OP_EQ, child, end);
	add_node(&r[5], FRBPF_FIELD_PID, FRBPF_OP_NE, child, end);
	add_node(&r[6], FRBPF_FIELD_TID, FRBPF_OP_GE, child, end);
	add_node(&r[7], FRBPF_FIELD_TID, FRBPF_OP_LT, child, end);
	add_node(&r[8], FRBPF_FIELD_UID, FRBPF_OP_LE, 0, 0);
	add_node(&r[8], FRBPF_FIELD_CPU, FRBPF_OP_LT, 10000, end);
	add_node(&r[9], FRBPF_FIELD_UID, FRBPF_OP_GT, 0, end);
	/* false && true || true */
	add_node(&r[10], FRBPF_FIELD_UID, FRBPF_OP_EQ, 1, 0);
	add_node(&r[10], FRBPF_FIELD_PID, FRBPF_OP_EQ, child, end);
	add_node(&r[10], FRBPF_FIELD_UID, FRBPF_OP_EQ, 0, end);
	/* true && false || false */
	add_node(&r[11], FRBPF_FIELD_UID, FRBPF_OP_EQ, 0, 0);
	add_node(&r[11], FRBPF_FIELD_PID, FRBPF_OP_EQ, child + 1, end);
	add_node(&r[11], FRBPF_FIELD_UID, FRBPF_OP_EQ, 1, end);
	/* as many as a rule may have; the last one decides */
	for (int i = 0; i < FRBPF_MAX_NODES; i++) {
		bool last = i == FRBPF_MAX_NODES - 1;

		add_node(&r[12], FRBPF_FIELD_PID, FRBPF_OP_EQ, last ? child : 1, end);
		add_node(&r[13], FRBPF_FIELD_PID, last ? FRBPF_OP_NE : FRBPF_OP_EQ, child,
			 last ? end : 0);
	}
}

static void rare_calls_when_told(struct findings *f, long n)
{
	while (!__atomic_load_n(&f->ready, __ATOMIC_SEQ_CST))
		usleep(1000);
	make_rare_calls(f, n);
}

static void test_predicates(void **state)
{
	struct rule_conf rules[N_PREDICATES];
	struct findings *f = shared_memory(sizeof(*f));
	uint32_t slots[N_PREDICATES];
	struct detectors *d;
	struct sink s;
	pid_t child;

	SKIP_UNLESS_POSSIBLE();
	d = open_detectors();
	child = spawn(rare_calls_when_told, f, 3);
	fill_predicates(rules, child);
	update(d, rules, N_PREDICATES, slots);
	__atomic_store_n(&f->ready, 1, __ATOMIC_SEQ_CST);
	assert_int_equal(await(child), 0);
	for (int i = 0; i < N_PREDICATES; i++) {
		struct frbpf_rule_state st = state_of(d, slots[i]);

		if (st.matched != (i % 2 ? 0 : 3))
			fail_msg("rule %d matched %llu times", i, st.matched);
		assert_int_equal(st.fired, st.matched);
	}
	s = collect(d, 2000);
	assert_int_equal(s.n, 3 * N_PREDICATES / 2);
	detectors__free(d);
	munmap(f, sizeof(*f));
}

static void test_conditions(void **state)
{
	/* of each pair the first must match, the second must not */
	static const char *const fixed[] = {
		"comm ~ \"frbpf-r?r*\"",
		"comm ~ \"frbpf-r[!a]re\"",
		"process in (a, \"frbpf-rare\")",
		"!(comm in (a, \"frbpf-rare\"))",
		"prio >= 100 && prio < 140",
		"prio < 100",
		"value > 1ns && value < 1s",
		"value >= 1s",
		"ret == -ENOSYS && ret < 0",
		"ret >= 0",
		"syscall >= 340 && syscall < 420",
		"syscall == read",
		"ret & 2 && ret & 0x40",
		"ret & 1 && ret & 4",
		"cgroup == / && current.cgroup == /",
		"cgroup == /no/such/cgroup",
		"current.cgroup != /no/such/cgroup",
		"cgroup != /",
	};
	enum { N = ARRAY_SIZE(fixed) };
	struct rule_conf rules[N + 2];
	uint32_t slots[N + 2];
	struct detectors *d;
	char text[64];

	SKIP_UNLESS_POSSIBLE();
	for (int i = 0; i < N + 2; i++) {
		rules[i] = syscall_rule(300 + i, RARE_CALL, 0);
		snprintf(text, sizeof(text), "ppid %s %d", i % 2 ? "!=" : "==", getpid());
		set_condition(&rules[i], i < N ? fixed[i] : text);
	}
	d = open_detectors();
	update(d, rules, N + 2, slots);
	assert_int_equal(await(spawn(make_rare_calls, NULL, 3)), 0);
	for (int i = 0; i < N + 2; i++) {
		if (state_of(d, slots[i]).matched != (i % 2 ? 0 : 3))
			fail_msg("'%s' matched %llu times", i < N ? fixed[i] : "ppid",
				 state_of(d, slots[i]).matched);
		expr__free(&rules[i].expr);
	}
	detectors__free(d);
}

static void call_in_cgroup(struct findings *f, long dir)
{
	char path[PATH_MAX + 16];
	FILE *procs;

	snprintf(path, sizeof(path), "%s/cgroup.procs", (const char *)dir);
	procs = fopen(path, "we");
	if (!procs || fprintf(procs, "0") < 0 || fclose(procs))
		_exit(REFUSED);
	make_rare_calls(f, 1);
}

/* One call in a cgroup of that path, made for it: 0 or REFUSED. */
static int call_in_new_cgroup(const char *top, const char *below)
{
	char dir[PATH_MAX];
	int status;

	snprintf(dir, sizeof(dir), "%s%s", top, below);
	if ((mkdir(top, 0755) && errno != EEXIST) || (*below && mkdir(dir, 0755)))
		return REFUSED;
	status = await(spawn(call_in_cgroup, NULL, (long)dir));
	if (*below)
		rmdir(dir);
	for (int i = 0; rmdir(top) && i < 100; i++)
		usleep(10000);
	return status;
}

/* A rule follows its cgroup: one that does not exist yet, and one that is made anew. */
static void test_cgroup_made_later(void **state)
{
	struct rule_conf r = syscall_rule(400, RARE_CALL, 0);
	char mount[PATH_MAX], top[PATH_MAX + 64], other[PATH_MAX + 64], text[128];
	struct detectors *d;
	uint32_t slot;
	int status;

	SKIP_UNLESS_POSSIBLE();
	if (cgroup__mount_point(mount, sizeof(mount))) {
		print_message("skipped: no cgroup2 file system\n");
		skip();
	}
	snprintf(top, sizeof(top), "%s/frbpf-test-%d", mount, getpid());
	snprintf(other, sizeof(other), "%s/frbpf-test-%d-other", mount, getpid());
	snprintf(text, sizeof(text), "cgroup == /frbpf-test-%d", getpid());
	set_condition(&r, text);
	d = open_detectors();
	update(d, &r, 1, &slot);
	status = call_in_new_cgroup(top, "");
	if (status == REFUSED) {
		detectors__free(d);
		expr__free(&r.expr);
		print_message("skipped: no cgroup to be had here\n");
		skip();
	}
	assert_int_equal(state_of(d, slot).matched, 1);
	assert_int_equal(call_in_new_cgroup(top, "/below"), 0);
	assert_int_equal(state_of(d, slot).matched, 2);
	assert_int_equal(call_in_new_cgroup(other, ""), 0);
	assert_int_equal(await(spawn(make_rare_calls, NULL, 1)), 0);
	assert_int_equal(state_of(d, slot).matched, 2);

	/* one that is there before the rule */
	update(d, NULL, 0, NULL);
	assert_int_equal(mkdir(top, 0755), 0);
	update(d, &r, 1, &slot);
	assert_int_equal(call_in_new_cgroup(top, "/below"), 0);
	assert_int_equal(state_of(d, slot).matched, 1);
	detectors__free(d);
	expr__free(&r.expr);
}

static void test_cooldown_fires_once(void **state)
{
	struct rule_conf r = syscall_rule(3, RARE_CALL, 0);
	struct frbpf_rule_state st;
	struct detectors *d;
	pid_t child[4];
	uint32_t slot;
	struct sink s;

	SKIP_UNLESS_POSSIBLE();
	d = open_detectors();
	r.cooldown.window = 60000 * MS;
	update(d, &r, 1, &slot);
	for (size_t i = 0; i < ARRAY_SIZE(child); i++)
		child[i] = spawn(make_rare_calls, NULL, 250);
	for (size_t i = 0; i < ARRAY_SIZE(child); i++)
		assert_int_equal(await(child[i]), 0);
	s = collect(d, 2000);
	assert_int_equal(s.n, 1);
	s = collect(d, 100);
	assert_int_equal(s.n, 0);
	st = state_of(d, slot);
	assert_int_equal(st.matched, 1000);
	assert_int_equal(st.fired, 1);
	assert_int_equal(st.suppressed[FRBPF_CAUSE_COOLDOWN], 999);
	assert_int_equal(st.matched, st.fired + held_back(&st));
	assert_true(st.last_value > 0 && st.max_value >= st.last_value);
	detectors__free(d);
}

/* Three calls in each of two threads. */
static void *rare_thread(void *arg)
{
	make_rare_calls(NULL, 3);
	return NULL;
}

static void make_rare_calls_in_threads(struct findings *f, long arg)
{
	pthread_t t[2];

	for (int i = 0; i < 2; i++) {
		if (pthread_create(&t[i], NULL, rare_thread, NULL) || pthread_join(t[i], NULL))
			_exit(1);
	}
}

static void test_cooldown_per(void **state)
{
	/* two processes with two threads each */
	static const struct {
		enum frbpf_per per;
		enum frbpf_field field;
		int fired;
	} cases[] = {
		{ FRBPF_PER_RULE, 0, 1 },
		{ FRBPF_PER_PROCESS, 0, 2 },
		{ FRBPF_PER_THREAD, 0, 4 },
		{ FRBPF_PER_CGROUP, 0, 1 },
		{ FRBPF_PER_FIELD, FRBPF_FIELD_PID, 2 },
		{ FRBPF_PER_FIELD, FRBPF_FIELD_TID, 4 },
		{ FRBPF_PER_FIELD, FRBPF_FIELD_COMM, 1 },
		{ FRBPF_PER_FIELD, FRBPF_FIELD_SYSCALL, 1 },
	};
	enum { N = ARRAY_SIZE(cases) };
	struct rule_conf rules[N];
	struct detectors *d;
	uint32_t slots[N];

	SKIP_UNLESS_POSSIBLE();
	for (int i = 0; i < N; i++) {
		rules[i] = syscall_rule(500 + i, RARE_CALL, 0);
		rules[i].cooldown.window = 60000 * MS;
		rules[i].cooldown.per = cases[i].per;
		rules[i].cooldown.field = cases[i].field;
	}
	d = open_detectors();
	update(d, rules, N, slots);
	for (int i = 0; i < 2; i++)
		assert_int_equal(await(spawn(make_rare_calls_in_threads, NULL, 0)), 0);
	for (int i = 0; i < N; i++) {
		struct frbpf_rule_state st = state_of(d, slots[i]);

		assert_int_equal(st.matched, 12);
		if ((int)st.fired != cases[i].fired)
			fail_msg("case %d fired %llu times", i, st.fired);
		assert_int_equal(st.suppressed[FRBPF_CAUSE_COOLDOWN], 12 - st.fired);
	}
	detectors__tidy(d); /* nothing has ended */
	assert_int_equal(await(spawn(make_rare_calls, NULL, 1)), 0);
	assert_int_equal(state_of(d, slots[3]).fired, 1);
	assert_int_equal(state_of(d, slots[1]).fired, 3);
	detectors__free(d);
}

static void test_count(void **state)
{
	struct rule_conf rules[] = {
		syscall_rule(520, RARE_CALL, 0),
		syscall_rule(521, RARE_CALL, 0),
		syscall_rule(522, RARE_CALL, 0),
		syscall_rule(523, RARE_CALL, 0),
	};
	uint32_t slots[ARRAY_SIZE(rules)];
	struct detectors *d;
	pid_t child[4];

	SKIP_UNLESS_POSSIBLE();
	rules[0].count = (struct rate){ .n = 7, .window = 60000 * MS };
	rules[1].count = (struct rate){ .n = FRBPF_COUNT_MAX, .window = 60000 * MS };
	rules[2].count = (struct rate){ .n = 7, .window = 60000 * MS, .per = FRBPF_PER_THREAD };
	rules[3].count = (struct rate){ .n = 3, .window = 1 };
	d = open_detectors();
	update(d, rules, ARRAY_SIZE(rules), slots);
	assert_int_equal(await(spawn(make_rare_calls, NULL, 6)), 0);
	assert_int_equal(state_of(d, slots[0]).fired, 0);
	assert_int_equal(await(spawn(make_rare_calls, NULL, 2)), 0);
	assert_int_equal(state_of(d, slots[0]).fired, 1);
	assert_int_equal(state_of(d, slots[0]).suppressed[FRBPF_CAUSE_COUNT], 7);
	assert_int_equal(await(spawn(make_rare_calls, NULL, 14 - 8 + 7)), 0);
	assert_int_equal(state_of(d, slots[0]).fired, 3);
	/* 6, 2 and 13 of three threads */
	assert_int_equal(state_of(d, slots[2]).fired, 1);
	/* too far apart */
	assert_int_equal(state_of(d, slots[3]).fired, 0);
	assert_int_equal(state_of(d, slots[3]).suppressed[FRBPF_CAUSE_COUNT], 21);
	collect(d, 100);
	for (size_t i = 0; i < ARRAY_SIZE(child); i++)
		child[i] = spawn(make_rare_calls, NULL, 7 * 64 / 4);
	for (size_t i = 0; i < ARRAY_SIZE(child); i++)
		assert_int_equal(await(child[i]), 0);
	/* every 64th of 21 + 448; never more often, though they race */
	assert_int_equal(state_of(d, slots[1]).fired, (21 + 448) / FRBPF_COUNT_MAX);
	assert_in_range(state_of(d, slots[0]).fired, 60, (21 + 448) / 7);
	assert_int_equal(state_of(d, slots[2]).fired, 1 + 4 * 7 * 64 / 4 / 7);
	detectors__free(d);
}

static void test_quiet_rule(void **state)
{
	struct rule_conf r = syscall_rule(530, RARE_CALL, 0);
	struct frbpf_rule_state st;
	struct detectors *d;
	uint64_t sum = 0;
	uint32_t slot;

	SKIP_UNLESS_POSSIBLE();
	d = open_detectors();
	r.quiet = true;
	update(d, &r, 1, &slot);
	assert_int_equal(await(spawn(make_rare_calls, NULL, 20)), 0);
	assert_int_equal(collect(d, 100).n, 0);
	st = state_of(d, slot);
	assert_int_equal(st.matched, 20);
	assert_int_equal(st.fired, 20);
	for (int i = 0; i < FRBPF_MAX_VALUES; i++) {
		sum += st.values[i];
		if (st.values[i])
			assert_true(st.max_value >= 1ULL << i);
	}
	assert_int_equal(sum, 20);
	assert_true(st.values[63 - __builtin_clzll(st.max_value)]);
	detectors__free(d);
}

static void test_held_back(void **state)
{
	struct rule_conf rules[] = { syscall_rule(540, RARE_CALL, 0),
				     syscall_rule(541, RARE_CALL, 0) };
	struct detectors *d;
	uint32_t slots[2];

	SKIP_UNLESS_POSSIBLE();
	d = open_detectors();
	update(d, rules, 2, slots);
	detectors__hold(d, slots[0], now_ns() + 60000 * MS);
	assert_int_equal(await(spawn(make_rare_calls, NULL, 1)), 0);
	detectors__hold(d, FRBPF_HOLD_ALL, now_ns() + 60000 * MS);
	assert_int_equal(await(spawn(make_rare_calls, NULL, 1)), 0);
	detectors__hold(d, slots[0], now_ns() - 1);
	detectors__hold(d, FRBPF_HOLD_ALL, 0);
	assert_int_equal(await(spawn(make_rare_calls, NULL, 1)), 0);
	assert_int_equal(state_of(d, slots[0]).suppressed[FRBPF_CAUSE_RULE_CAP], 2);
	assert_int_equal(state_of(d, slots[0]).fired, 1);
	assert_int_equal(state_of(d, slots[1]).suppressed[FRBPF_CAUSE_CAP], 1);
	assert_int_equal(state_of(d, slots[1]).fired, 2);
	detectors__free(d);
}

#ifdef SYS_alarm
/* alarm() returns what it was called with the last time: any key one likes. */
static void make_keys(struct findings *f, long n)
{
	set_name(subject_name());
	for (long i = 1; i <= n; i++)
		syscall(SYS_alarm, 1000000 + i);
	syscall(SYS_alarm, 0);
}

static void test_no_room_for_keys(void **state)
{
	enum { ROOM = FRBPF_MAX_COUNTING, N = ROOM + 100 };
	struct rule_conf r = rule_when(550, "syscall:alarm > 1ns", "ret > 1000000");
	struct frbpf_rule_state st;
	struct detectors *d;
	uint32_t slot;

	SKIP_UNLESS_POSSIBLE();
	r.count = (struct rate){
		.n = 2, .window = 1, .per = FRBPF_PER_FIELD, .field = FRBPF_FIELD_RET
	};
	d = open_detectors();
	update(d, &r, 1, &slot);
	assert_int_equal(await(spawn(make_keys, NULL, N)), 0);
	st = state_of(d, slot);
	assert_int_equal(st.matched, N);
	/* the map lends each CPU some entries in advance */
	assert_in_range(st.suppressed[FRBPF_CAUSE_KEYS], 100 - 64, 100 + 64);
	assert_int_equal(st.suppressed[FRBPF_CAUSE_COUNT], N - st.suppressed[FRBPF_CAUSE_KEYS]);
	sleep(2);
	detectors__tidy(d);
	assert_int_equal(await(spawn(make_keys, NULL, 10)), 0);
	assert_int_equal(state_of(d, slot).suppressed[FRBPF_CAUSE_KEYS],
			 st.suppressed[FRBPF_CAUSE_KEYS]);
	detectors__free(d);
}
#endif

static void test_full_ring_is_counted(void **state)
{
	struct rule_conf r = syscall_rule(4, RARE_CALL, 0);
	struct frbpf_rule_state st;
	struct detectors *d;
	uint32_t slot;
	struct sink s;

	SKIP_UNLESS_POSSIBLE();
	d = open_detectors();
	update(d, &r, 1, &slot);
	assert_int_equal(await(spawn(make_rare_calls, NULL, 3000)), 0);
	st = state_of(d, slot);
	assert_int_equal(st.matched, 3000);
	assert_true(st.suppressed[FRBPF_CAUSE_FULL] > 0);
	assert_int_equal(st.matched, st.fired + held_back(&st));
	s = collect(d, 2000);
	assert_int_equal(s.n, st.fired);
	detectors__free(d);
}

static void test_own_calls_are_suppressed(void **state)
{
	struct rule_conf r = syscall_rule(5, RARE_CALL, 0);
	struct frbpf_rule_state st;
	struct detectors *d;
	uint32_t slot;
	struct sink s;

	SKIP_UNLESS_POSSIBLE();
	d = open_detectors();
	update(d, &r, 1, &slot);
	for (int i = 0; i < 10; i++)
		syscall(RARE_CALL, SCHED_FIFO);
	s = collect(d, 100);
	assert_int_equal(s.n, 0);
	st = state_of(d, slot);
	assert_int_equal(st.matched, 10);
	assert_int_equal(st.suppressed[FRBPF_CAUSE_SELF], 10);
	detectors__free(d);
}

#ifdef __x86_64__
/* Number COMPAT_CALL of the 32-bit table: writev, here with a bad descriptor. */
static void make_compat_calls(struct findings *f, long n)
{
	for (long i = 0; i < n; i++) {
		long ret = COMPAT_CALL;

		__asm__ volatile("int $0x80" : "+a"(ret) : "b"(-1), "c"(0), "d"(0) : "memory");
		if (ret != -EBADF)
			_exit(1);
	}
}

static void test_compat_calls_are_ignored(void **state)
{
	struct rule_conf r = syscall_rule(6, COMPAT_CALL, 0);
	struct detectors *d;
	uint32_t slot;

	SKIP_UNLESS_POSSIBLE();
	if (await(spawn(make_compat_calls, NULL, 1))) {
		print_message("skipped: this kernel takes no 32-bit system calls\n");
		skip();
	}
	d = open_detectors();
	update(d, &r, 1, &slot);
	assert_int_equal(await(spawn(make_compat_calls, NULL, 5)), 0);
	assert_int_equal(state_of(d, slot).matched, 0);
	detectors__free(d);
}
#endif

static void make_odd_calls(struct findings *f, long arg)
{
	const long odd[] = {
		-1,	   FRBPF_KEY_MAX, FRBPF_KEY_MAX + RARE_CALL, 0x40000000 + RARE_CALL,
		INT32_MAX, INT32_MIN
	};

	for (size_t i = 0; i < ARRAY_SIZE(odd); i++)
		syscall(odd[i], 0);
}

static void test_odd_call_numbers(void **state)
{
	struct rule_conf r = syscall_rule(7, RARE_CALL, 0);
	struct detectors *d;
	uint32_t slot;

	SKIP_UNLESS_POSSIBLE();
	d = open_detectors();
	update(d, &r, 1, &slot);
	assert_int_equal(await(spawn(make_odd_calls, NULL, 0)), 0);
	assert_int_equal(state_of(d, slot).matched, 0);
	detectors__free(d);
}

static void test_update_keeps_state(void **state)
{
	struct rule_conf rules[] = { syscall_rule(8, RARE_CALL, 0), syscall_rule(9, RARE_CALL, 0) };
	uint32_t slots[2], again[2];
	struct detectors *d;

	SKIP_UNLESS_POSSIBLE();
	d = open_detectors();
	rules[0].cooldown.window = rules[1].cooldown.window = 60000 * MS;
	update(d, rules, 2, slots);
	assert_int_equal(await(spawn(make_rare_calls, NULL, 2)), 0);

	rules[0] = rules[1]; /* 9 stays, at another place; 8 goes, 10 comes */
	rules[1] = syscall_rule(10, RARE_CALL, 0);
	update(d, rules, 2, again);
	assert_int_equal(again[0], slots[1]);
	assert_int_not_equal(again[1], slots[0]);
	assert_int_equal(await(spawn(make_rare_calls, NULL, 1)), 0);
	assert_int_equal(state_of(d, again[0]).matched, 3);
	assert_int_equal(state_of(d, again[0]).fired, 1); /* its cooldown went on */
	assert_int_equal(state_of(d, again[1]).matched, 1);
	assert_int_equal(state_of(d, again[1]).fired, 1);

	rules[1] = syscall_rule(11, RARE_CALL, 0);
	rules[1].cooldown.window = 60000 * MS;
	update(d, rules, 2, again);
	assert_int_equal(again[1], slots[0]); /* 8's old slot, and clean */
	assert_int_equal(state_of(d, again[1]).matched, 0);
	detectors__free(d);
}

/* Its own process, under a name of its own. */
static void name_findings(struct findings *f)
{
	set_name(subject_name());
	f->pid = f->tid = getpid();
}

/* The parent of vfork() is in uninterruptible sleep until its child is gone. */
static void wait_for_vfork(struct findings *f, long ms)
{
	const struct timespec ts = { .tv_nsec = ms * MS };

	name_findings(f);
	f->begin = now_ns();
	if (!vfork()) {
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL);
		_exit(0);
	}
	f->end = now_ns();
	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL);
}

static void test_blocked(void **state)
{
	struct rule_conf r = rule_when(600, "blocked > 40ms", NULL);
	struct findings *f = shared_memory(sizeof(*f));
	struct detectors *d;
	struct sink s;
	uint32_t slot;

	SKIP_UNLESS_POSSIBLE();
	d = open_detectors();
	update(d, &r, 1, &slot);
	assert_int_equal(await(spawn(wait_for_vfork, f, 60)), 0);
	s = collect(d, 2000);
	assert_int_equal(s.n, 1); /* the child that slept is not blocked */
	assert_int_equal(s.last.source, FRBPF_SOURCE_BLOCKED);
	assert_int_equal(s.last.subject.pid, f->pid);
	assert_in_range(s.last.value, 60 * MS - MS, f->end - f->begin);
	assert_in_range(s.last.time, f->begin + s.last.value, f->end);
	detectors__free(d);
	munmap(f, sizeof(*f));
}

/* Idle kernel threads would be there all the time. */
static void test_blocked_is_not_idle(void **state)
{
	struct rule_conf r = rule_when(601, "blocked > 100ms", NULL);
	struct detectors *d;
	uint32_t slot;

	SKIP_UNLESS_POSSIBLE();
	set_condition(&r, "ppid == 2 && comm ~ \"rcu_*\"");
	d = open_detectors();
	update(d, &r, 1, &slot);
	usleep(500000);
	assert_int_equal(state_of(d, slot).matched, 0);
	detectors__free(d);
	expr__free(&r.expr);
}

static void test_offcpu(void **state)
{
	struct rule_conf rules[] = {
		/* longer than others of a busy machine keep the CPU from who can run */
		rule_when(610, "offcpu > 500ms", "state == D"),
		rule_when(611, "offcpu > 500ms", "state == S"),
		rule_when(612, "offcpu > 500ms", "state in (R, T, I)"),
	};
	struct findings *f = shared_memory(sizeof(*f));
	uint32_t slots[ARRAY_SIZE(rules)];
	struct detectors *d;
	struct sink s;

	SKIP_UNLESS_POSSIBLE();
	d = open_detectors();
	update(d, rules, 1, slots);
	assert_int_equal(await(spawn(wait_for_vfork, f, 600)), 0);
	s = collect(d, 2000);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.last.source, FRBPF_SOURCE_OFFCPU);
	assert_int_equal(s.last.subject.pid, f->pid);
	assert_in_range(s.last.value, 600 * MS - MS, f->end - f->begin);
	update(d, rules, ARRAY_SIZE(rules), slots);
	assert_int_equal(await(spawn(wait_for_vfork, f, 600)), 0);
	assert_int_equal(state_of(d, slots[0]).matched, 2);
	assert_int_equal(state_of(d, slots[1]).matched, 2); /* the child, and the nap */
	assert_int_equal(state_of(d, slots[2]).matched, 0);
	detectors__free(d);
	munmap(f, sizeof(*f));
}

static void fail_to_open(struct findings *f, long arg)
{
	name_findings(f);
	open("/no/such/file", O_RDONLY);
	open("/proc/self/status/x", O_RDONLY); /* ENOTDIR */
	close(open("/proc/self/status", O_RDONLY));
	open("/no/such/file", O_RDONLY);
}

static void test_failing_calls(void **state)
{
	static const struct {
		const char *when;
		uint64_t matched;
	} cases[] = {
		{ "syscall:openat fails", 3 },
		{ "syscall:openat fails (ENOENT)", 2 },
		{ "syscall:openat fails (EMFILE, ENOTDIR)", 1 },
		{ "syscall:openat fails (EMFILE, EHWPOISON)", 0 },
		{ "syscall:* fails (ENOENT, ENOTDIR)", 3 },
		{ "syscall:close fails", 0 },
		{ "syscall:openat > 1ns", 4 },
		{ "syscall:openat > 1h", 0 },
	};
	enum { N = ARRAY_SIZE(cases) };
	struct findings *f = shared_memory(sizeof(*f));
	struct rule_conf rules[N];
	struct detectors *d;
	uint32_t slots[N];
	struct sink s;

	SKIP_UNLESS_POSSIBLE();
	for (int i = 0; i < N; i++)
		rules[i] = rule_when(620 + i, cases[i].when, NULL);
	d = open_detectors();
	update(d, rules, N, slots);
	assert_int_equal(await(spawn(fail_to_open, f, 0)), 0);
	for (int i = 0; i < N; i++) {
		if (state_of(d, slots[i]).matched != cases[i].matched)
			fail_msg("%s: %llu", cases[i].when, state_of(d, slots[i]).matched);
	}
	collect(d, 100);
	/* alone, below any threshold */
	update(d, rules, 1, slots);
	assert_int_equal(await(spawn(fail_to_open, f, 0)), 0);
	assert_int_equal(state_of(d, slots[0]).matched, 6);
	s = collect(d, 2000);
	assert_int_equal(s.n, 3);
	assert_int_equal(s.last.ret, -ENOENT);
	assert_int_equal(s.last.key, SYS_openat);
	assert_int_equal(s.last.threshold, 0);
	detectors__free(d);
	munmap(f, sizeof(*f));
}

/* What `syscall:*` is to see, 3 calls, and what not. */
static void call_all_kinds(struct findings *f, long arg)
{
	struct timespec ts = { .tv_nsec = MS };
	int file = open("/proc/self/status", O_RDONLY), p[2];
	struct pollfd nothing = { .fd = -1 };
	char c[2];

	if (pipe(p) || write(p[1], "x", 1) != 1)
		_exit(1);
	name_findings(f);
	if (read(p[0], c, 1) != 1)
		_exit(1);
	syscall(SYS_ppoll, &nothing, 1, &ts, NULL, 0);
	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL);
	if (read(file, c, 1) != 1 || write(p[1], "x", 1) != 1)
		_exit(1);
	syscall(RARE_CALL, SCHED_FIFO);
	set_name("frbpf-gone");
}

static void test_all_calls(void **state)
{
	struct rule_conf rules[] = {
		rule_when(640, "syscall:* > 1ns", NULL),
		rule_when(641, "syscall:* > 1ns", "syscall == read"),
		rule_when(642, "syscall:read > 1ns", NULL),
		rule_when(643, "syscall:ppoll > 1ns", NULL),
	};
	struct findings *f = shared_memory(sizeof(*f));
	uint32_t slots[ARRAY_SIZE(rules)];
	struct detectors *d;

	SKIP_UNLESS_POSSIBLE();
	d = open_detectors();
	update(d, rules, ARRAY_SIZE(rules), slots);
	assert_int_equal(await(spawn(call_all_kinds, f, 0)), 0);
	/* and getpid() and prctl() behind the change of the name */
	assert_in_range(state_of(d, slots[0]).matched, 3, 6);
	assert_int_equal(state_of(d, slots[1]).matched, 1);
	assert_int_equal(state_of(d, slots[2]).matched, 2);
	assert_int_equal(state_of(d, slots[3]).matched, 1);
	detectors__free(d);
	munmap(f, sizeof(*f));
}

static void on_signal(int sig)
{
}

/* Sleeps through signals that stop it, reads through signals with handlers. What is to be long is so by far: what is
 * short may become longer when a hypervisor has others to serve. */
static void be_interrupted(struct findings *f, long arg)
{
	struct sigaction restart = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	const struct timespec ts = { .tv_sec = 1 };
	char c;

	sigaction(SIGUSR1, &restart, NULL);
	name_findings(f);
	f->ready = 1;
	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL);
	f->ready = 2;
	if (read(wake_pipe[0], &c, 1) != 1)
		_exit(1);
	restart.sa_flags = 0;
	sigaction(SIGUSR1, &restart, NULL);
	f->ready = 3;
	if (read(wake_pipe[0], &c, 1) != -1 || errno != EINTR)
		_exit(2);
	usleep(50000);
	if (write(wake_pipe[1], "x", 1) != 1 || read(wake_pipe[0], &c, 1) != 1)
		_exit(3);
	set_name("frbpf-gone");
}

/* It is in the call that comes next: it sleeps. */
static void await_call(struct findings *f, int ready)
{
	while (__atomic_load_n(&f->ready, __ATOMIC_SEQ_CST) != ready)
		usleep(1000);
	await_sleep(f->tid);
}

static void test_restarted_calls(void **state)
{
	struct rule_conf rules[] = {
		rule_when(650, "syscall:clock_nanosleep > 700ms", NULL),
		rule_when(651, "syscall:read > 700ms", NULL),
		rule_when(652, "syscall:read,clock_nanosleep fails", NULL),
		rule_when(653, "syscall:read > 1ns", NULL),
	};
	struct findings *f = shared_memory(sizeof(*f));
	uint32_t slots[ARRAY_SIZE(rules)];
	struct detectors *d;
	pid_t child;

	SKIP_UNLESS_POSSIBLE();
	assert_int_equal(pipe(wake_pipe), 0);
	d = open_detectors();
	update(d, rules, ARRAY_SIZE(rules), slots);
	child = spawn(be_interrupted, f, 0);
	await_call(f, 1);
	kill(child, SIGSTOP);
	usleep(50000);
	kill(child, SIGCONT);
	await_call(f, 2);
	for (int i = 0; i < 2; i++) {
		usleep(500000);
		kill(child, SIGUSR1);
	}
	await_sleep(child);
	assert_int_equal(write(wake_pipe[1], "x", 1), 1);
	await_call(f, 3);
	kill(child, SIGUSR1);
	assert_int_equal(await(child), 0);
	/* one sleep, to its real end */
	assert_int_equal(state_of(d, slots[0]).matched, 1);
	assert_true(state_of(d, slots[0]).max_value >= 999 * MS);
	/* one read of a second; the third one does not begin with the second, which ended with EINTR
	 */
	assert_int_equal(state_of(d, slots[1]).matched, 1);
	assert_true(state_of(d, slots[1]).max_value >= 999 * MS);
	assert_int_equal(state_of(d, slots[3]).matched, 2);
	assert_int_equal(state_of(d, slots[2]).matched, 0);
	detectors__free(d);
	munmap(f, sizeof(*f));
	close(wake_pipe[0]);
	close(wake_pipe[1]);
}

static void read_twice(struct findings *f, long arg)
{
	char c;

	name_findings(f);
	for (int i = 1; i <= 2; i++) {
		__atomic_store_n(&f->ready, i, __ATOMIC_SEQ_CST);
		if (read(wake_pipe[0], &c, 1) != 1)
			_exit(1);
	}
}

/* A call that begins before its rule's removal and one that ends after its return are not one. */
static void test_watch_interrupted(void **state)
{
	struct rule_conf rules[] = { syscall_rule(12, RARE_CALL, 0),
				     syscall_rule(13, SYS_read, 0) };
	struct findings *f = shared_memory(sizeof(*f));
	struct detectors *d;
	uint32_t slots[2];
	pid_t child;

	SKIP_UNLESS_POSSIBLE();
	add_name(&rules[1], FRBPF_FIELD_COMM, FRBPF_OP_EQ, subject_name(), FRBPF_NODE_END);
	assert_int_equal(pipe(wake_pipe), 0);
	d = open_detectors();
	update(d, rules, 2, slots);
	child = spawn(read_twice, f, 0);
	await_call(f, 1);
	update(d, rules, 1, slots);
	assert_int_equal(write(wake_pipe[1], "x", 1), 1);
	await_call(f, 2);
	update(d, rules, 2, slots);
	assert_int_equal(write(wake_pipe[1], "x", 1), 1);
	assert_int_equal(await(child), 0);
	assert_int_equal(state_of(d, slots[1]).matched, 0);
	detectors__free(d);
	munmap(f, sizeof(*f));
	close(wake_pipe[0]);
	close(wake_pipe[1]);
}

/* A wait in flight survives a reload that keeps its rule. */
static void test_update_keeps_wait(void **state)
{
	struct rule_conf rules[] = { syscall_rule(14, SYS_read, 0),
				     syscall_rule(15, RARE_CALL, 0) };
	struct findings *f = shared_memory(sizeof(*f));
	struct detectors *d;
	uint32_t slots[2];
	pid_t child;

	SKIP_UNLESS_POSSIBLE();
	add_name(&rules[0], FRBPF_FIELD_COMM, FRBPF_OP_EQ, subject_name(), FRBPF_NODE_END);
	assert_int_equal(pipe(wake_pipe), 0);
	d = open_detectors();
	update(d, rules, 1, slots);
	child = spawn(read_twice, f, 0);
	await_call(f, 1);
	update(d, rules, 2, slots);
	update(d, rules, 1, slots);
	assert_int_equal(write(wake_pipe[1], "xx", 2), 2);
	assert_int_equal(await(child), 0);
	assert_int_equal(state_of(d, slots[0]).matched, 2);
	detectors__free(d);
	munmap(f, sizeof(*f));
	close(wake_pipe[0]);
	close(wake_pipe[1]);
}

static void test_bad_rules_leave_the_old_ones(void **state)
{
	enum { N = FRBPF_MAX_RULES + 1 };
	struct rule_conf old = syscall_rule(16, RARE_CALL, 0), *many = calloc(N, sizeof(*many));
	uint32_t slot, *slots = calloc(N, sizeof(*slots));
	struct err err = { "" };
	struct detectors *d;

	SKIP_UNLESS_POSSIBLE();
	assert_true(many && slots);
	d = open_detectors();
	update(d, &old, 1, &slot);
	for (int i = 0; i < N; i++)
		many[i] = runqlat_rule(1000 + i, MS);
	assert_int_equal(detectors__update(d, many, N, slots, &err), -E2BIG);
	assert_string_equal(err.msg, "runqlat: more than 256 rules");
	many[0].when.source = 77;
	assert_int_equal(detectors__update(d, many, 1, slots, &err), -EINVAL);
	assert_int_equal(await(spawn(make_rare_calls, NULL, 1)), 0);
	assert_int_equal(state_of(d, slot).matched, 1);
	detectors__free(d);
	free(many);
	free(slots);
}

/* programs in the kernel */

struct prog {
	struct bpf_prog_info info;
	uint32_t maps[16];
	uint32_t n_maps;
};

static bool prog_next(uint32_t *id, struct prog *ret)
{
	const uint32_t max = ARRAY_SIZE(ret->maps);

	if (!next_program(id, "", ret->maps, max, &ret->info))
		return false;
	ret->n_maps = ret->info.nr_map_ids < max ? ret->info.nr_map_ids : max;
	return true;
}

static bool prog_uses(const struct prog *p, const uint32_t *maps, uint32_t n)
{
	for (uint32_t i = 0; i < p->n_maps; i++) {
		for (uint32_t j = 0; j < n; j++) {
			if (p->maps[i] == maps[j])
				return true;
		}
	}
	return false;
}

/* The programs of @d: those that use its trigger ring, and those that share another map with them.
 */
static int progs_of(uint32_t triggers_id, struct prog *ret, int max)
{
	uint32_t maps[64] = { triggers_id }, n_maps = 1, id = 0;
	struct prog p;
	int n = 0;

	while (prog_next(&id, &p)) {
		if (!prog_uses(&p, &triggers_id, 1))
			continue;
		for (uint32_t i = 0; i < p.n_maps && n_maps < ARRAY_SIZE(maps); i++)
			maps[n_maps++] = p.maps[i];
	}
	for (id = 0; prog_next(&id, &p) && n < max;) {
		if (prog_uses(&p, maps, n_maps))
			ret[n++] = p;
	}
	return n;
}

static uint32_t triggers_id(const struct detectors *d)
{
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);

	assert_int_equal(bpf_obj_get_info_by_fd(detectors__fd(d), &info, &len), 0);
	return info.id;
}

static void test_programs_go_with_the_last_rule(void **state)
{
	struct rule_conf rules[] = { runqlat_rule(17, 1000 * MS), syscall_rule(18, RARE_CALL, 0) };
	struct prog progs[32];
	struct detectors *d;
	uint32_t slots[2];
	int n = -1;

	SKIP_UNLESS_POSSIBLE();
	d = open_detectors();
	assert_int_equal(progs_of(triggers_id(d), progs, 32), 0);
	update(d, rules, 2, slots);
	assert_int_equal(progs_of(triggers_id(d), progs, 32), 9);
	update(d, NULL, 0, NULL);
	for (int i = 0; i < 1500 && n; i++) { /* the kernel frees them a little later */
		usleep(20000);
		n = progs_of(triggers_id(d), progs, 32);
	}
	assert_int_equal(n, 0);
	update(d, rules, 2, slots);
	assert_int_equal(await(spawn(make_rare_calls, NULL, 1)), 0);
	assert_int_equal(state_of(d, slots[1]).matched, 1);
	detectors__free(d);
}

static void test_verified_instructions(void **state)
{
	enum { SOURCES = 4, N = SOURCES * FRBPF_MAX_RULES };
	static const enum frbpf_source sources[SOURCES] = { FRBPF_SOURCE_RUNQLAT,
							    FRBPF_SOURCE_SYSCALL,
							    FRBPF_SOURCE_BLOCKED,
							    FRBPF_SOURCE_OFFCPU };
	struct rule_conf *rules = calloc(N, sizeof(*rules));
	uint32_t *slots = calloc(N, sizeof(*slots));
	struct prog progs[32];
	struct detectors *d;
	int n;

	SKIP_UNLESS_POSSIBLE();
	assert_true(rules && slots);
	for (int i = 0; i < N; i++) {
		rules[i] = syscall_rule(i, SYS_fsync, 1000 * MS + i);
		rules[i].when.source = sources[i % SOURCES];
		for (int k = 0; k < FRBPF_MAX_NODES; k++)
			add_node(&rules[i], FRBPF_FIELD_UID, FRBPF_OP_EQ, 0, FRBPF_NODE_END);
	}
	d = open_detectors();
	update(d, rules, N, slots);
	n = progs_of(triggers_id(d), progs, 32);
	assert_int_equal(n, 18);
	for (int i = 0; i < n; i++)
		check_program(&progs[i].info);
	detectors__free(d);
	free(rules);
	free(slots);
}

/* surroundings */

/* In a pid namespace of its own the daemon sees its own numbers. */
static int check_pids_in_namespace(void)
{
	struct rule_conf r = syscall_rule(19, RARE_CALL, 0);
	struct err err = { "" };
	struct detectors *d;
	struct sink s = { .n = 0 };
	uint32_t slot;
	pid_t child;

	if (getpid() != 1 || detectors__open(&err, &d))
		return 2;
	if (detectors__update(d, &r, 1, &slot, &err))
		return 3;
	child = fork();
	if (!child) {
		make_rare_calls(NULL, 1);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	if (detectors__consume(d, INT_MAX, take, &s) != 1)
		return 4;
	detectors__free(d);
	return s.last.subject.pid == (uint32_t)child && s.last.subject.tid == (uint32_t)child &&
			       child < 10
		       ? 0
		       : 5;
}

static void run_in_namespace(struct findings *f, long arg)
{
	int status;
	pid_t pid;

	if (unshare(CLONE_NEWPID))
		_exit(REFUSED);
	pid = fork();
	if (!pid)
		_exit(check_pids_in_namespace());
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		_exit(9);
	_exit(WEXITSTATUS(status));
}

static void test_pid_namespace(void **state)
{
	int status;

	SKIP_UNLESS_POSSIBLE();
	status = await(spawn(run_in_namespace, NULL, 0));
	if (status == REFUSED) {
		print_message("skipped: no pid namespace to be had\n");
		skip();
	}
	assert_int_equal(status, 0);
}

static void open_unprivileged(struct findings *f, long arg)
{
	struct err err = { "" };
	struct detectors *d;

	if (setgid(65534) || setuid(65534))
		_exit(1);
	if (detectors__open(&err, &d) != -EPERM)
		_exit(2);
	_exit(strstr(err.msg, "CAP_BPF and CAP_PERFMON") ? 0 : 3);
}

static void test_no_privilege(void **state)
{
	SKIP_UNLESS_POSSIBLE();
	assert_int_equal(await(spawn(open_unprivileged, NULL, 0)), 0);
}

static void test_load_errors_in_words(void **state)
{
	struct load_log log = { .cause = "prog 'rq_wakeup': failed to find kernel BTF type ID of "
					 "'sched_wakeup': -3" };
	struct err err = { "" };

	assert_int_equal(load_error__explain(&err, -ESRCH, &log), -ESRCH);
	assert_non_null(strstr(err.msg, "no tracepoint 'sched_wakeup' "));

	log = (struct load_log){ .cause = "whatever", .verifier = "7: (bf) r1 = r10\nR1 is bad" };
	assert_int_equal(load_error__explain(&err, -EACCES, &log), -EACCES);
	assert_non_null(strstr(err.msg, "verifier refused"));
	assert_non_null(strstr(err.msg, "R1 is bad"));

	log = (struct load_log){ .cause = "" };
	load_error__explain(&err, -EPERM, &log);
	assert_non_null(strstr(err.msg, "CAP_BPF"));
	load_error__explain(&err, -ENOSYS, &log);
	assert_non_null(strstr(err.msg, "CONFIG_BPF_SYSCALL"));
	load_error__explain(&err, -ENOMEM, &log);
	assert_string_equal(err.msg, "Cannot allocate memory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runqlat_of_new_task),
		cmocka_unit_test(test_runqlat_of_old_task),
		cmocka_unit_test(test_syscall),
		cmocka_unit_test(test_predicates),
		cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_cgroup_made_later),
		cmocka_unit_test(test_cooldown_fires_once),
		cmocka_unit_test(test_cooldown_per),
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_quiet_rule),
		cmocka_unit_test(test_held_back),
#ifdef SYS_alarm
		cmocka_unit_test(test_no_room_for_keys),
#endif
		cmocka_unit_test(test_full_ring_is_counted),
		cmocka_unit_test(test_own_calls_are_suppressed),
#ifdef __x86_64__
		cmocka_unit_test(test_compat_calls_are_ignored),
#endif
		cmocka_unit_test(test_odd_call_numbers),
		cmocka_unit_test(test_blocked),
		cmocka_unit_test(test_blocked_is_not_idle),
		cmocka_unit_test(test_offcpu),
		cmocka_unit_test(test_failing_calls),
		cmocka_unit_test(test_all_calls),
		cmocka_unit_test(test_restarted_calls),
		cmocka_unit_test(test_update_keeps_state),
		cmocka_unit_test(test_watch_interrupted),
		cmocka_unit_test(test_update_keeps_wait),
		cmocka_unit_test(test_bad_rules_leave_the_old_ones),
		cmocka_unit_test(test_programs_go_with_the_last_rule),
		cmocka_unit_test(test_verified_instructions),
		cmocka_unit_test(test_pid_namespace),
		cmocka_unit_test(test_no_privilege),
		cmocka_unit_test(test_load_errors_in_words),
	};

	test_pid();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
