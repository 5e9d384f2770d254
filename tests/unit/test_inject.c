// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events seen by user space, in the rule engine of the running kernel; their subjects from /proc;
 * the listener thread. Skips what needs root or kernel BTF.
 * with: others
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/bpf.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "detect/detectors_core.h"
#include "detect/inject/inject.h"
#include "detect/inject/listener.h"
#include "inject_fixture.h"

static struct rule_conf rule(uint64_t id, uint64_t threshold)
{
	return (struct rule_conf){
		.id = id,
		.when = { .source = FRBPF_SOURCE_APP, .threshold = threshold, .hit = !threshold },
	};
}

static void add_node(struct rule_conf *r, uint32_t field, enum frbpf_op op, uint64_t low,
		     uint64_t high)
{
	r->expr.nodes[r->expr.n_nodes++] = (struct frbpf_node){
		.field = field, .op = op, .flags = FRBPF_NODE_END, .val = { low, high }
	};
}

static struct frbpf_event event(uint64_t value)
{
	return (struct frbpf_event){ .time = now_ns(), .value = value, .cpu = 3 };
}

static void test_threshold(void **state)
{
	struct rule_conf rules[] = { rule(1, 0), rule(2, 10 * MS) };
	struct frbpf_event e = event(10 * MS);
	struct bench b;

	SKIP_UNLESS_POSSIBLE();
	b = bench_open(rules, 2);
	assert_int_equal(fire(&b, &e), 1);
	assert_int_equal(b.last.rule_id, 1);
	assert_int_equal(b.last.threshold, 0);
	e.value++;
	assert_int_equal(fire(&b, &e), 2);
	assert_int_equal(b.last.rule_id, 2);
	assert_int_equal(b.last.slot, 1);
	assert_int_equal(b.last.source, FRBPF_SOURCE_APP);
	assert_int_equal(b.last.value, 10 * MS + 1);
	assert_int_equal(b.last.time, e.time);
	assert_int_equal(b.last.cpu, 3);
	e.value = 0;
	assert_int_equal(fire(&b, &e), 1);
	assert_int_equal(state_of(b.d, 0).matched, 3);
	assert_int_equal(state_of(b.d, 1).matched, 1);
	assert_int_equal(state_of(b.d, 1).max_value, 10 * MS + 1);
	bench_close(&b);
}

static void test_condition_and_args(void **state)
{
	struct rule_conf r = rule(1, 0);
	struct frbpf_event e = event(1);
	__u64 word[2] = { 0 };
	struct bench b;

	SKIP_UNLESS_POSSIBLE();
	memcpy(word, "/api/orders", 11);
	add_node(&r, FRBPF_FIELD_ARG + 2, FRBPF_OP_EQ, word[0], word[1]);
	add_node(&r, FRBPF_FIELD_VALUE, FRBPF_OP_GT, 5, 0);
	add_node(&r, FRBPF_FIELD_CPU, FRBPF_OP_EQ, 7, 0);
	b = bench_open(&r, 1);
	assert_int_equal(fire(&b, &e), 0);
	memcpy(e.val[EVENT_SUBJECT][FRBPF_FIELD_ARG + 2], word, sizeof(word));
	assert_int_equal(fire(&b, &e), 1);
	assert_memory_equal(b.last.args[2], word, sizeof(word));
	assert_int_equal(b.last.args[1][0], 0);
	e = event(6);
	assert_int_equal(fire(&b, &e), 1);
	e = event(1);
	e.cpu = 7;
	assert_int_equal(fire(&b, &e), 1);
	bench_close(&b);
}

/*
 * Escalation: a value that is larger by the factor breaks through the cooldown. The next values are
 * compared with it.
 */
static void test_escalation(void **state)
{
	static const struct {
		uint64_t ms;
		bool fires, escalated;
	} events[] = { { 21, true, false }, { 22, false, false },   { 83, false, false },
		       { 84, true, true },  { 84, false, false },   { 335, false, false },
		       { 948, true, true }, { 3791, false, false }, { 3792, true, true } };
	struct rule_conf rules[] = { rule(1, 20 * MS), rule(2, 20 * MS), rule(3, 20 * MS),
				     rule(4, 0) };
	struct frbpf_event e = event(0);
	struct bench b;

	SKIP_UNLESS_POSSIBLE();
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		rules[i].cooldown = (struct rate){ .time = 3600000 * MS };
		rules[i].escalate = i == 2 ? 0 : 400;
	}
	rules[1].cooldown.per = FRBPF_PER_PROCESS;
	for (int of_task = 0; of_task < 2; of_task++) {
		for (size_t i = 0; i < ARRAY_SIZE(rules) && of_task; i++)
			add_node(&rules[i], FRBPF_FIELD_CPU, FRBPF_OP_EQ, 3, 0);
		b = bench_open(rules, ARRAY_SIZE(rules));
		e.process[0] = 1;
		for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
			int n = 2 * events[i].fires + 2 * (i == 0);

			e.time = now_ns();
			e.value = events[i].ms * MS;
			if (fire(&b, &e) != n)
				fail_msg("%s: %d ms", of_task ? "with a condition" : "without",
					 (int)events[i].ms);
			if (!n)
				continue;
			assert_int_equal(b.last.value, e.value);
			assert_int_equal(b.last.flags,
					 events[i].escalated ? FRBPF_TRIGGER_ESCALATED : 0);
		}
		/* another process: its values are compared with its own first value */
		e.process[0] = 2;
		e.value = 30 * MS;
		assert_int_equal(fire(&b, &e), 1);
		assert_int_equal(b.last.rule_id, 2);
		e.value = 120 * MS;
		assert_int_equal(fire(&b, &e), 1);
		bench_close(&b);
	}
}

/* A trigger reports how much was suppressed since the last one, and the largest such value. */
static void test_what_was_suppressed(void **state)
{
	static const uint64_t suppressed[] = { 22, 79, 50 };
	struct rule_conf r = rule(1, 20 * MS);
	struct frbpf_event e = event(21 * MS);
	struct frbpf_suppressed held;
	struct bench b;

	SKIP_UNLESS_POSSIBLE();
	r.cooldown = (struct rate){ .time = 3600000 * MS };
	r.escalate = 400;
	for (int with_engine = 0; with_engine < 2; with_engine++) {
		e.value = 21 * MS;
		if (with_engine)
			add_node(&r, FRBPF_FIELD_CPU, FRBPF_OP_EQ, 3, 0);
		b = bench_open(&r, 1);
		assert_int_equal(fire(&b, &e), 1);
		assert_int_equal(b.last.since_last.count, 0);
		assert_int_equal(b.last.since_last.value, 0);
		for (size_t i = 0; i < ARRAY_SIZE(suppressed); i++) {
			e.time++;
			e.value = suppressed[i] * MS;
			e.val[EVENT_SUBJECT][FRBPF_FIELD_TID][0] = 100 + i;
			assert_int_equal(fire(&b, &e), 0);
		}
		assert_int_equal(detectors__rule_suppressed(b.d, 0, &held), 0);
		assert_int_equal(held.count, 3);
		e.value = 84 * MS;
		assert_int_equal(fire(&b, &e), 1);
		assert_memory_equal(&b.last.since_last, &held, sizeof(held));
		assert_int_equal(held.value, 79 * MS);
		assert_int_equal(held.time, e.time - 1);
		assert_int_equal(held.subject.tid, 101);
		assert_int_equal(detectors__rule_suppressed(b.d, 0, &held), 0);
		assert_int_equal(held.count + held.value, 0);
		bench_close(&b);
	}
}

static void test_rates(void **state)
{
	struct rule_conf rules[] = { rule(1, 0), rule(2, 0) };
	struct frbpf_event e = event(1);
	struct bench b;

	SKIP_UNLESS_POSSIBLE();
	rules[0].cooldown = (struct rate){ .time = 3600000 * MS, .per = FRBPF_PER_PROCESS };
	rules[1].count = (struct rate){ .n = 3, .time = 3600000 * MS };
	b = bench_open(rules, 2);
	e.process[0] = 10;
	assert_int_equal(fire(&b, &e), 1);
	assert_int_equal(fire(&b, &e), 0);
	e.process[0] = 11;
	assert_int_equal(fire(&b, &e), 2);
	assert_int_equal(state_of(b.d, 0).fired, 2);
	assert_int_equal(state_of(b.d, 0).suppressed[FRBPF_CAUSE_COOLDOWN], 1);
	assert_int_equal(state_of(b.d, 1).fired, 1);
	assert_int_equal(state_of(b.d, 1).suppressed[FRBPF_CAUSE_COUNT], 2);
	bench_close(&b);
}

static void test_self_and_holds(void **state)
{
	struct rule_conf r = rule(1, 0);
	struct frbpf_event e = event(1);
	struct bench b;

	SKIP_UNLESS_POSSIBLE();
	b = bench_open(&r, 1);
	assert_int_equal(proc_subject__fill(&e, EVENT_SUBJECT, getpid(), false), 0);
	assert_int_equal(fire(&b, &e), 0);
	assert_int_equal(state_of(b.d, 0).suppressed[FRBPF_CAUSE_SELF], 1);
	e.self = 0;
	detectors__suppress(b.d, 0, UINT64_MAX / 2);
	assert_int_equal(fire(&b, &e), 0);
	assert_int_equal(state_of(b.d, 0).suppressed[FRBPF_CAUSE_RULE_CAP], 1);
	bench_close(&b);
}

static void test_time_is_never_later(void **state)
{
	struct rule_conf r = rule(1, 0);
	struct frbpf_event e = event(1);
	struct bench b;

	SKIP_UNLESS_POSSIBLE();
	b = bench_open(&r, 1);
	e.time = now_ns() + 3600000 * MS;
	assert_int_equal(fire(&b, &e), 1);
	assert_true(b.last.time <= now_ns());
	bench_close(&b);
}

/*
 * An event that was prepared for rules which were then replaced is not evaluated with the new ones.
 */
static void test_bank(void **state)
{
	struct rule_conf old = rule(1, 0), young = rule(2, 0);
	struct frbpf_event e = event(1);
	struct bench b;

	SKIP_UNLESS_POSSIBLE();
	b = bench_open(&old, 1);
	e.bank = 1 + inject__bank(b.s->skel);
	assert_int_equal(fire(&b, &e), 1);
	bench_write(&b, &young, 1);
	assert_int_equal(inject__event(b.s->skel, &e), -EAGAIN);
	e.bank = 1 + inject__bank(b.s->skel);
	assert_int_equal(fire(&b, &e), 1);
	assert_int_equal(b.last.rule_id, 2);
	bench_close(&b);
}

static void test_wants(void **state)
{
	struct rule_conf r = rule(1, 0);
	struct bench b;

	SKIP_UNLESS_POSSIBLE();
	r.cooldown = (struct rate){ .time = 1, .per = FRBPF_PER_CGROUP };
	b = bench_open(&r, 1);
	assert_true(inject__wants(b.s->skel, FRBPF_FIELD_CGROUP));
	assert_false(inject__wants(b.s->skel, FRBPF_FIELD_COMM));
	bench_close(&b);
}

static void test_verified_instructions(void **state)
{
	struct rule_conf r = rule(1, 0);
	struct bench b;

	SKIP_UNLESS_POSSIBLE();
	b = bench_open(&r, 1);
	assert_true(check_instructions("inject") > 0);
	bench_close(&b);
}

/* /proc */

static void *named_thread(void *arg)
{
	int *fds = arg;
	pid_t tid = gettid();
	char c;

	prctl(PR_SET_NAME, "th)\nread 1");
	if (write(fds[1], &tid, sizeof(tid)) != sizeof(tid) || read(fds[2], &c, 1) < 0)
		_exit(1);
	return NULL;
}

static void test_subject_is_a_thread(void **state)
{
	struct frbpf_event e = { 0 };
	const char *comm = (const char *)e.val[EVENT_SUBJECT][FRBPF_FIELD_COMM];
	const char *process = (const char *)e.val[EVENT_SUBJECT][FRBPF_FIELD_PROCESS];
	int out[2], in[2], fds[3];
	pthread_t t;
	pid_t child, tid;

	assert_int_equal(pipe(out), 0);
	assert_int_equal(pipe(in), 0);
	fds[1] = out[1];
	fds[2] = in[0];
	child = fork();
	if (!child) {
		prctl(PR_SET_NAME, "frbpf-leader");
		pthread_create(&t, NULL, named_thread, fds);
		pthread_join(t, NULL);
		_exit(0);
	}
	assert_int_equal(read(out[0], &tid, sizeof(tid)), sizeof(tid));
	assert_int_equal(proc_subject__fill(&e, EVENT_SUBJECT, tid, false), 0);
	assert_string_equal(comm, "th)\nread 1");
	assert_string_equal(process, "frbpf-leader");
	assert_int_equal(e.val[EVENT_SUBJECT][FRBPF_FIELD_PID][0], child);
	assert_int_equal(e.val[EVENT_SUBJECT][FRBPF_FIELD_TID][0], tid);
	assert_int_equal(e.val[EVENT_SUBJECT][FRBPF_FIELD_PPID][0], getpid());
	assert_int_equal(e.val[EVENT_SUBJECT][FRBPF_FIELD_UID][0], geteuid());
	assert_in_range(e.val[EVENT_SUBJECT][FRBPF_FIELD_PRIO][0], 100, 139);
	assert_int_equal(e.process[0], child);
	assert_int_equal(e.thread[0], tid);
	assert_true(e.process[1] && e.thread[1] >= e.process[1]);
	assert_int_equal(e.self, 0);
	assert_in_range(proc_subject__cpu(tid), 0, 8191);
	assert_int_equal(write(in[1], "x", 1), 1);
	assert_int_equal(waitpid(child, NULL, 0), child);

	memset(&e, 0, sizeof(e));
	e.val[EVENT_SUBJECT][FRBPF_FIELD_UID][0] = 77;
	assert_int_equal(proc_subject__fill(&e, EVENT_SUBJECT, child, true), -ESRCH);
	assert_int_equal(e.val[EVENT_SUBJECT][FRBPF_FIELD_PID][0], child);
	assert_int_equal(e.val[EVENT_SUBJECT][FRBPF_FIELD_UID][0], 77);
	assert_int_equal(e.process[0], child);
	assert_string_equal(comm, "");
	for (int i = 0; i < 2; i++) {
		close(in[i]);
		close(out[i]);
	}
}

static void test_subject_has_cgroups(void **state)
{
	char mount[PATH_MAX], line[PATH_MAX] = "", full[2 * PATH_MAX];
	struct frbpf_event e = { 0 };
	uint64_t root, own;
	bool found = false;
	FILE *f;

	if (cgroup__mount_point(mount, sizeof(mount))) {
		print_message("skipped: no cgroup2 is mounted here\n");
		skip();
	}
	assert_non_null(f = fopen("/proc/self/cgroup", "r"));
	while (!found && fgets(line, sizeof(line), f))
		found = !strncmp(line, "0::", 3);
	fclose(f);
	assert_true(found);
	line[strcspn(line, "\n")] = '\0';
	snprintf(full, sizeof(full), "%s", line + 3);
	assert_int_equal(cgroup__id(mount, "/", &root), 0);
	assert_int_equal(cgroup__id(mount, full, &own), 0);
	assert_int_equal(proc_subject__fill(&e, EVENT_SUBJECT, getpid(), true), 0);
	assert_int_equal(e.own_cgroup, own);
	assert_int_equal(e.cgroup[EVENT_SUBJECT][0], root);
	found = false;
	for (int i = 0; i < FRBPF_CGROUP_DEPTH; i++)
		found |= e.cgroup[EVENT_SUBJECT][i] == own;
	assert_true(found);
	assert_int_equal(e.self, 1);
	proc_subject__set_current(&e);
	assert_memory_equal(e.val[EVENT_CURRENT], e.val[EVENT_SUBJECT],
			    FRBPF_FIELD_VALUE * sizeof(e.val[0][0]));
	assert_memory_equal(e.cgroup[EVENT_CURRENT], e.cgroup[EVENT_SUBJECT], sizeof(e.cgroup[0]));
}

/* the listener */

struct served {
	struct listener *l;
	int fd;
	int answer; /* eventfd */
	int n;
	bool once;
};

static void serve_eventfd(void *arg, uint32_t events)
{
	struct served *s = arg;
	uint64_t n;

	s->n += read(s->fd, &n, sizeof(n)) == sizeof(n);
	if (s->once)
		listener__remove(s->l, s->fd);
	n = 1;
	if (write(s->answer, &n, sizeof(n)) != sizeof(n))
		abort();
}

static void poke_and_wait(int fd, int answer)
{
	uint64_t n = 1;

	assert_int_equal(write(fd, &n, sizeof(n)), sizeof(n));
	assert_int_equal(read(answer, &n, sizeof(n)), sizeof(n));
}

static bool thread_is_there(const char *name)
{
	char path[64], comm[32];
	bool found = false;
	struct dirent *de;
	FILE *f;
	DIR *dir = opendir("/proc/self/task");

	while ((de = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/self/task/%.20s/comm", de->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		found |= fgets(comm, sizeof(comm), f) && !strncmp(comm, name, strlen(name));
		fclose(f);
	}
	closedir(dir);
	return found;
}

/* A joined thread stays in /proc for a moment. */
static bool thread_goes(const char *name)
{
	int i;

	for (i = 0; i < 10000 && thread_is_there(name); i++)
		usleep(1000);
	return i < 10000;
}

static void test_listener(void **state)
{
	struct listener *l = listener__new();
	struct served a = { l, eventfd(0, 0), eventfd(0, 0) };
	struct served b = { l, eventfd(0, 0), a.answer, 0, true };

	assert_non_null(l);
	assert_false(thread_is_there("frbpf-listen"));
	assert_int_equal(listener__add(l, -1, EPOLLIN, serve_eventfd, &a), -EBADF);
	assert_true(thread_goes("frbpf-listen"));
	for (int round = 0; round < 2; round++) {
		assert_int_equal(listener__add(l, a.fd, EPOLLIN, serve_eventfd, &a), 0);
		assert_int_equal(listener__add(l, b.fd, EPOLLIN, serve_eventfd, &b), 0);
		assert_true(thread_is_there("frbpf-listen"));
		poke_and_wait(a.fd, a.answer);
		poke_and_wait(b.fd, a.answer);
		assert_int_equal(write(b.fd, &(uint64_t){ 1 }, 8), 8); /* removed: not served */
		poke_and_wait(a.fd, a.answer);
		listener__remove(l, a.fd);
		assert_true(thread_goes("frbpf-listen"));
		assert_int_equal(read(b.fd, &(uint64_t){ 0 }, 8), 8);
	}
	assert_int_equal(a.n, 4);
	assert_int_equal(b.n, 2);
	listener__free(l);
	close(a.fd);
	close(a.answer);
	close(b.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threshold),
		cmocka_unit_test(test_condition_and_args),
		cmocka_unit_test(test_escalation),
		cmocka_unit_test(test_what_was_suppressed),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_self_and_holds),
		cmocka_unit_test(test_time_is_never_later),
		cmocka_unit_test(test_bank),
		cmocka_unit_test(test_wants),
		cmocka_unit_test(test_verified_instructions),
		cmocka_unit_test(test_subject_is_a_thread),
		cmocka_unit_test(test_subject_has_cgroups),
		cmocka_unit_test(test_listener),
	};

	return cmocka_run_group_tests_name("inject", tests, NULL, NULL);
}
