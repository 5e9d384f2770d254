// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules in force: how they change while events are under way, which programs come and go with them,
 * and failures to load.
 * with: others
 */
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/bpf.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "detect/engine/load_error.h"
#include "syscall_fixture.h"

static int wake_pipe[2];

static void test_update_keeps_state(void **state)
{
	struct rule_conf rules[] = { syscall_rule(8, RARE_CALL, 0), syscall_rule(9, RARE_CALL, 0) };
	uint32_t slots[2], again[2];
	struct detectors *d;

	SKIP_UNLESS_POSSIBLE();
	d = open_detectors();
	rules[0].cooldown.time = rules[1].cooldown.time = 60000 * MS;
	update(d, rules, 2, slots);
	assert_int_equal(await(spawn(make_rare_calls, NULL, 2)), 0);

	rules[0] = rules[1]; /* 9 stays, at another position; 8 goes, 10 comes */
	rules[1] = syscall_rule(10, RARE_CALL, 0);
	update(d, rules, 2, again);
	assert_int_equal(again[0], slots[1]);
	assert_int_not_equal(again[1], slots[0]);
	assert_int_equal(await(spawn(make_rare_calls, NULL, 1)), 0);
	assert_int_equal(state_of(d, again[0]).matched, 3);
	assert_int_equal(state_of(d, again[0]).fired, 1); /* its cooldown continued */
	assert_int_equal(state_of(d, again[1]).matched, 1);
	assert_int_equal(state_of(d, again[1]).fired, 1);

	rules[1] = syscall_rule(11, RARE_CALL, 0);
	rules[1].cooldown.time = 60000 * MS;
	update(d, rules, 2, again);
	assert_int_equal(again[1], slots[0]); /* the slot of 8, cleared */
	assert_int_equal(state_of(d, again[1]).matched, 0);
	detectors__free(d);
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

/* A call that begins before its rule is removed does not end after the rule returns. */
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
	uint32_t maps[32];
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

/*
 * The programs of @d: those that use its trigger queue, and those that share another map with them.
 */
static int progs_of(uint32_t triggers_id, struct prog *ret, int max)
{
	uint32_t maps[512] = { triggers_id }, n_maps = 1, id = 0;
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
	assert_int_equal(progs_of(triggers_id(d), progs, 32), 14);
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
	assert_int_equal(n, 27);
	for (int i = 0; i < n; i++)
		check_program(&progs[i].info);
	detectors__free(d);
	free(rules);
	free(slots);
}

/* surroundings */

/* In a pid namespace, the daemon sees the numbers of that namespace. */
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
	if (detectors__consume(d, INT_MAX, take_trigger, &s) != 1)
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

	load_error__explain(&err, -524, &log);
	assert_non_null(strstr(err.msg, "Linux 5.18"));

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
