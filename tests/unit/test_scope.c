// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules confined to some tasks, on the running kernel. Skips without root or kernel BTF.
 * with: others
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/bpf.h>

#include "common/cleanup.h"
#include "detect/engine/cgroups.h"
#include "detect/engine/scope.h"
#include "detect_fixture.h"

/* A rule that counts failures like those of fail_to_open(). */
static struct ruleset *make_rules(void)
{
	return parse_rules_text("[rule-x]\nwhen = syscall:openat fails (ELOOP)\n"
				"dump = none\ncooldown = 0\n",
				NULL, NULL, 0);
}

/* With ELOOP, which is rare: the link leads to itself. */
static char loop_path[64];

static void fail_to_open(int times)
{
	while (times--) {
		if (open(loop_path, O_RDONLY | O_CLOEXEC) >= 0)
			abort();
	}
}

static void *open_and_exec(void *arg)
{
	fail_to_open(1);
	execl("/bin/cat", "cat", loop_path, NULL); /* one more call that fails */
	return NULL;
}

static void reap_child(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0)
		;
}

/*
 * Make 7 calls that fail: 2 by itself, 3 by an orphan, 2 by a thread that becomes another program.
 */
static void be_a_tree(void)
{
	pthread_t thread;
	pid_t pid;

	fail_to_open(2);
	pid = fork();
	if (pid == 0) {
		pid = fork();
		if (pid)
			_exit(0);
		setsid();
		fail_to_open(3);
		_exit(0);
	}
	reap_child(pid);
	pid = fork();
	if (pid == 0) {
		close(STDERR_FILENO);
		pthread_create(&thread, NULL, open_and_exec, NULL);
		pause();
	}
	reap_child(pid);
}

/* A process that waits for a byte from @go; at the end of @done its whole tree has ended. */
static pid_t spawn_tree(int go[2], int done[2])
{
	pid_t pid;
	char byte;

	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(done), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid)
		return pid;
	close(done[0]);
	if (read(go[0], &byte, 1) == 1)
		be_a_tree();
	_exit(0);
}

static void let_go(pid_t pid, int go[2], int done[2])
{
	char byte = 0;

	close(done[1]);
	assert_int_equal(write(go[1], &byte, 1), 1);
	reap_child(pid);
	assert_int_equal(read(done[0], &byte, 1), 0);
	close(go[0]);
	close(go[1]);
	close(done[0]);
}

static void make_loop(void)
{
	snprintf(loop_path, sizeof(loop_path), "/tmp/frbpf-test-loop.%d", getpid());
	unlink(loop_path);
	assert_int_equal(symlink(loop_path, loop_path), 0);
}

static void close_detectors(struct detectors *d, struct ruleset *rs)
{
	detectors__free(d);
	ruleset__free(rs);
	unlink(loop_path);
}

static void test_tree(void **state)
{
	int go[2], done[2], other_go[2], other_done[2];
	struct err err = { "" };
	struct detectors_stats stats;
	struct detectors *d;
	struct ruleset *rs;
	uint32_t slot;
	pid_t in, out;

	SKIP_UNLESS_POSSIBLE();
	make_loop();
	d = open_detectors();
	rs = make_rules();
	in = spawn_tree(go, done);
	if (detectors__confine_to_tasks(d, &err) || detectors__include(d, in, &err))
		fail_msg("%s", err.msg);
	update(d, rs->rules, rs->n_rules, &slot);
	out = spawn_tree(other_go, other_done);
	let_go(out, other_go, other_done);
	fail_to_open(5);
	assert_int_equal(matched(d, slot), 0);
	let_go(in, go, done);
	assert_int_equal(matched(d, slot), 7);
	detectors__stats(d, &stats);
	assert_int_equal(stats.unmeasured, 0);
	close_detectors(d, rs);
}

static void *open_when_asked(void *arg)
{
	char byte;

	if (read(*(int *)arg, &byte, 1) == 1)
		fail_to_open(4);
	return NULL;
}

/* A process that already has a thread when it is included. */
static void test_threads(void **state)
{
	int go[2], ready[2];
	struct err err = { "" };
	struct detectors *d;
	struct ruleset *rs;
	pthread_t thread;
	uint32_t slot;
	char byte = 0;
	pid_t pid;

	SKIP_UNLESS_POSSIBLE();
	make_loop();
	d = open_detectors();
	rs = make_rules();
	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		pthread_create(&thread, NULL, open_when_asked, &go[0]);
		if (write(ready[1], &byte, 1) != 1)
			abort();
		pthread_join(thread, NULL);
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	if (detectors__confine_to_tasks(d, &err) || detectors__include(d, pid, &err))
		fail_msg("%s", err.msg);
	update(d, rs->rules, rs->n_rules, &slot);
	assert_int_equal(write(go[1], &byte, 1), 1);
	reap_child(pid);
	assert_int_equal(matched(d, slot), 4);
	assert_int_equal(detectors__include(d, pid, &err), -ESRCH);
	for (int i = 0; i < 2; i++) {
		close(go[i]);
		close(ready[i]);
	}
	close_detectors(d, rs);
}

static void enter(const char *cgroup)
{
	char path[4200];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		abort();
	close(fd);
}

static void open_from_cgroup(const char *cgroup, int times)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		enter(cgroup);
		fail_to_open(times);
		_exit(0);
	}
	reap_child(pid);
}

static void test_cgroup(void **state)
{
	char mount[4096], top[4200], below[4300];
	struct detectors *d;
	struct ruleset *rs;
	uint32_t slot;
	uint64_t id;

	SKIP_UNLESS_POSSIBLE();
	if (cgroup__mount_point(mount, sizeof(mount)))
		skip();
	snprintf(top, sizeof(top), "%s/frbpf-test-%d", mount, getpid());
	snprintf(below, sizeof(below), "%s/below", top);
	if (mkdir(top, 0755) || mkdir(below, 0755))
		skip();
	make_loop();
	d = open_detectors();
	rs = make_rules();
	assert_int_equal(cgroup__id("", top, &id), 0);
	detectors__confine_to_cgroup(d, id);
	update(d, rs->rules, rs->n_rules, &slot);
	fail_to_open(5);
	open_from_cgroup(mount, 5);
	assert_int_equal(matched(d, slot), 0);
	open_from_cgroup(top, 2);
	open_from_cgroup(below, 3);
	assert_int_equal(matched(d, slot), 5);
	close_detectors(d, rs);
	while (rmdir(below) && errno == EBUSY)
		;
	while (rmdir(top) && errno == EBUSY)
		;
}

static void *exec_cat(void *arg)
{
	execl("/bin/cat", "cat", NULL);
	return NULL;
}

/* Waits for a byte; then a thread executes a program that waits for the end of its input. */
static pid_t spawn_exec(int input[2])
{
	pthread_t thread;
	char byte;
	pid_t pid;

	assert_int_equal(pipe(input), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid)
		return pid;
	close(input[1]);
	dup2(input[0], STDIN_FILENO);
	if (read(STDIN_FILENO, &byte, 1) == 1)
		pthread_create(&thread, NULL, exec_cat, NULL);
	pause();
	_exit(1);
}

/* Count the keys of tasks in the scope. *ret_number becomes a key that is a task's number. */
static int count_keys(int fd, uint64_t *ret_number)
{
	uint64_t key, value;
	bool more = !bpf_map_get_next_key(fd, NULL, &key);
	int n = 0;

	for (; more; n++) {
		if (!bpf_map_lookup_elem(fd, &key, &value) && key != value)
			*ret_number = key;
		more = !bpf_map_get_next_key(fd, &key, &key);
	}
	return n;
}

static bool is_called(pid_t pid, const char *name)
{
	char path[64], comm[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "r");
	assert_non_null(f);
	if (!fgets(comm, sizeof(comm), f))
		comm[0] = '\0';
	fclose(f);
	return !strncmp(comm, name, strlen(name));
}

/* After exec, the thread has the process's number, under which it was in the scope before. */
static void test_exec_by_a_thread(void **state)
{
	struct err err = { "" };
	uint64_t before = 0, after = 0;
	struct scope *s = NULL;
	int input[2], n = 0;
	pid_t pid;

	SKIP_UNLESS_POSSIBLE();
	pid = spawn_exec(input);
	if (scope__open(&err, &s) || scope__add(s, pid, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(count_keys(scope__keys_fd(s), &before), 2);
	assert_int_equal(write(input[1], "x", 1), 1);
	while (!is_called(pid, "cat"))
		usleep(1000);
	for (int i = 0; i < 1500 && n != 2; i++) { /* the old leader ends a little later */
		usleep(10000);
		n = count_keys(scope__keys_fd(s), &after);
	}
	close(input[0]);
	close(input[1]);
	reap_child(pid);
	assert_int_equal(n, 2);
	assert_int_equal(after, before);
	scope__free(s);
}

/*
 * The programs have few enough instructions for every verifier, and no type that may disturb
 * others.
 */
static void test_programs(void **state)
{
	struct err err = { "" };
	struct scope *s = NULL;
	struct bpf_prog_info info;
	uint32_t id = 0;
	int found = 0;

	SKIP_UNLESS_POSSIBLE();
	if (scope__open(&err, &s))
		fail_msg("%s", err.msg);
	for (; next_program(&id, "scope_", NULL, 0, &info); found++) {
		check_program(&info);
		assert_int_equal(info.type, BPF_PROG_TYPE_TRACING);
	}
	assert_true(found >= 2);
	scope__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree),	 cmocka_unit_test(test_threads),
		cmocka_unit_test(test_cgroup),	 cmocka_unit_test(test_exec_by_a_thread),
		cmocka_unit_test(test_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
