// SPDX-License-Identifier: GPL-2.0-only
/* The processes of sessions; the test acts as the daemon. Needs no root. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/buf.h"
#include "proxy/proxies.h"
#include "temp_tree.h"

#define LIMIT_MS 60000

struct world {
	char dir[64];
	int fd;
	struct proxies *all;
	struct err err;
	/* the last message */
	struct proxy *who;
	enum proxy_op op;
	char text[PROXY_TEXT_MAX];
	bool killed;
	size_t n;
};

static int set_up_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	strcpy(w->dir, "/tmp/frbpf-proxies-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	w->fd = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(w->fd >= 0);
	assert_int_equal(proxies__new(&w->err, &w->all), 0);
	*state = w;
	return 0;
}

static int tear_down_world(void **state)
{
	struct world *w = *state;

	proxies__free(w->all);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no process is left */
	close(w->fd);
	remove_temp_tree(w->dir);
	free(w);
	return 0;
}

static struct proxy *start(struct world *w, const char *run, char *const *command)
{
	struct proxy *x;

	if (proxies__start(w->all, "one", run, command, w->fd, &w->err, &x))
		fail_msg("%s", w->err.msg);
	return x;
}

static void note(struct proxy *x, enum proxy_op op, const char *text, void *arg)
{
	struct world *w = arg;

	w->who = x;
	w->op = op;
	w->killed = !text;
	snprintf(w->text, sizeof(w->text), "%s", text ?: "");
	w->n++;
}

/* Wait for @n more messages. */
static void listen_for(struct world *w, size_t n)
{
	struct pollfd pfd = { .fd = proxies__fd(w->all), .events = POLLIN };

	w->n = 0;
	while (w->n < n) {
		assert_int_equal(poll(&pfd, 1, LIMIT_MS), 1);
		proxies__process(w->all, note, w);
	}
}

static void path_of(const struct world *w, const char *name, char ret[static 128])
{
	snprintf(ret, 128, "%s/%s", w->dir, name);
}

/* Open a fifo once that is possible. It still exists when its process is gone. */
static int open_when_there(const struct world *w, const char *name, int flags)
{
	char path[128];
	int fd = -1;

	path_of(w, name, path);
	for (int ms = 0; fd < 0 && ms < LIMIT_MS; ms += 10) {
		fd = open(path, flags | O_CLOEXEC);
		if (fd < 0)
			poll(NULL, 0, 10);
	}
	assert_true(fd >= 0);
	return fd;
}

static void write_control(const struct world *w, const char *text)
{
	int fd = open_when_there(w, "control", O_WRONLY | O_NONBLOCK);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static bool output_is(const struct world *w, const char *wanted)
{
	struct buf b = { 0 };
	char path[128];
	bool same;

	path_of(w, "output", path);
	same = !buf__read_file(&b, path, 1 << 20) && !strcmp(b.data ?: "", wanted);
	buf__free(&b);
	return same;
}

static void wait_for_output(const struct world *w, const char *wanted)
{
	for (int ms = 0; !output_is(w, wanted); ms += 10) {
		assert_true(ms < LIMIT_MS);
		poll(NULL, 0, 10);
	}
}

/* A signal to the process of a session is reported for that session, and ends nothing. */
static void signals_are_told(void **state)
{
	struct world *w = *state;
	struct proxy *a = start(w, "-a", NULL), *b = start(w, "-b", NULL);

	assert_int_not_equal(a->pid, b->pid);
	assert_int_equal(kill(b->pid, SIGUSR2), 0);
	listen_for(w, 1);
	assert_ptr_equal(w->who, b);
	assert_int_equal(w->op, PROXY_DUMP);
	assert_string_equal(w->text, "SIGUSR2");
	assert_int_equal(kill(a->pid, SIGTERM), 0);
	listen_for(w, 1);
	assert_ptr_equal(w->who, a);
	assert_int_equal(w->op, PROXY_STOP);
	assert_int_equal(kill(a->pid, 0), 0);
	assert_int_equal(kill(b->pid, SIGKILL), 0);
	listen_for(w, 1);
	assert_ptr_equal(w->who, b);
	assert_true(w->killed);
	proxy__unref(a);
	proxy__unref(b);
}

/*
 * Commands in the fifo come with newlines, without, and several at once. They are acknowledged as
 * perf does.
 */
static void the_fifo_is_served(void **state)
{
	struct world *w = *state;
	struct proxy *x = start(w, "-a", NULL);
	char path[128], ack[16];
	struct stat st;
	int fd;

	proxy__go(x);
	write_control(w, "ping");
	listen_for(w, 1);
	assert_int_equal(w->op, PROXY_CONTROL);
	assert_string_equal(w->text, "ping");
	proxy__ack(x);
	fd = open_when_there(w, "ack", O_RDONLY);
	assert_int_equal(read(fd, ack, sizeof(ack)), 5);
	assert_string_equal(ack, "ack\n");
	close(fd);
	write_control(w, "nonsense\nenabled\nenable cpu-clock\n");
	listen_for(w, 1);
	assert_string_equal(w->text, "enable cpu-clock");
	write_control(w, "snapshot\n");
	listen_for(w, 2);
	assert_int_equal(w->op, PROXY_CONTROL); /* to be acknowledged */
	proxy__print(x, "said\n");
	wait_for_output(w, "said\n");
	for (int i = 0; i < 3; i++) {
		path_of(w, ((const char *[]){ "control", "ack", "output" })[i], path);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0600);
	}
	proxy__unref(x);
}

/* A file of another kind is in the place of a fifo: it is reported, and not written to. */
static void wrong_file_for_a_fifo_is_reported(void **state)
{
	struct world *w = *state;
	struct proxy *x;
	char path[128];
	struct stat st;
	int fd;

	path_of(w, "control", path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	close(fd);
	path_of(w, "ack", path);
	assert_int_equal(symlink("/dev/null", path), 0);
	x = start(w, "-a", NULL);
	proxy__go(x);
	listen_for(w, 2);
	assert_int_equal(w->op, PROXY_TROUBLE);
	proxy__ack(x);
	assert_int_equal(kill(x->pid, SIGUSR2), 0);
	listen_for(w, 1); /* the process is still there */
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	proxy__unref(x);
}

/*
 * The command runs only when the session does, in the session's directory. The command's end is
 * reported.
 */
static void a_command_runs(void **state)
{
	struct world *w = *state;
	char *words[] = { "sh", "-c", "echo begun; trap >begun; exit 3", NULL };
	struct proxy *x = start(w, "sh", words);
	char path[128];

	assert_true(x->command > 0);
	path_of(w, "begun", path);
	assert_int_equal(access(path, F_OK), -1);
	proxy__go(x);
	listen_for(w, 1);
	assert_int_equal(w->op, PROXY_EXITED);
	assert_string_equal(w->text, "its command exited, status=3");
	assert_true(output_is(w, "begun\n"));
	assert_int_equal(access(path, F_OK), 0);
	proxy__unref(x);
}

static void a_missing_command_is_told(void **state)
{
	struct world *w = *state;
	char *words[] = { "/no/such/program", NULL };
	struct proxy *x = start(w, "-a", words);

	proxy__go(x);
	listen_for(w, 1);
	assert_int_equal(w->op, PROXY_EXITED);
	assert_true(output_is(w, "Workload failed: /no/such/program: No such file or directory\n"));
	proxy__unref(x);
}

/* A session's end ends its command, even one that ignores SIGTERM. */
static void the_command_ends_with_it(void **state)
{
	struct world *w = *state;
	char *words[] = { "sh", "-c", "trap '' TERM; echo; while :; do sleep 100; done", NULL };
	struct proxy *x = start(w, "sh", words);
	pid_t command = x->command;

	proxy__go(x);
	wait_for_output(w, "\n");
	proxies__free(w->all);
	assert_int_equal(kill(command, 0), -1);
	assert_int_equal(proxies__new(&w->err, &w->all), 0);
}

/*
 * One process per session, whoever uses it. The process of a changed session waits for the earlier
 * one.
 */
static void processes_are_shared(void **state)
{
	struct world *w = *state;
	struct proxy *a = start(w, "-a", NULL), *again = start(w, "-a", NULL), *changed;
	pid_t was = a->pid;

	assert_ptr_equal(a, again);
	proxy__go(a);
	proxy__unref(again);
	write_control(w, "ping\n");
	listen_for(w, 1);
	changed = start(w, "-b", NULL);
	proxy__go(changed);
	write_control(w, "ping\n");
	listen_for(w, 1);
	assert_ptr_equal(w->who, a);
	proxy__unref(a);
	assert_int_equal(kill(changed->pid, SIGUSR2), 0);
	listen_for(w, 1);
	for (int ms = 0; kill(was, 0) == 0; ms += 10) { /* reaped by us */
		struct pollfd pfd = { .fd = proxies__fd(w->all), .events = POLLIN };

		assert_true(ms < LIMIT_MS);
		poll(&pfd, 1, 10);
		proxies__process(w->all, note, w);
	}
	write_control(w, "ping\n");
	listen_for(w, 1);
	assert_ptr_equal(w->who, changed);
	proxy__set_over(changed);
	a = start(w, "-b", NULL);
	assert_ptr_not_equal(a, changed);
	proxy__unref(changed);
	proxy__unref(a);
}

/* However the daemon ends, no process stays. */
static void they_end_with_a_killed_daemon(void **state)
{
	struct world *w = *state;
	char *words[] = { "sleep", "1000", NULL };
	struct pollfd pfds[2] = { { .events = POLLIN }, { .events = POLLIN } };
	pid_t pids[2] = { 0 };
	int fds[2];
	pid_t daemon;

	assert_int_equal(pipe(fds), 0);
	daemon = fork();
	if (!daemon) {
		struct proxies *all;
		struct proxy *x;

		if (proxies__new(&w->err, &all) ||
		    proxies__start(all, "one", "-a", words, w->fd, &w->err, &x))
			_exit(1);
		proxy__go(x);
		if (write(fds[1], (pid_t[]){ x->pid, x->command }, sizeof(pids)) < 0)
			_exit(1);
		pause();
	}
	assert_int_equal(read(fds[0], pids, sizeof(pids)), sizeof(pids));
	for (int i = 0; i < 2; i++) {
		pfds[i].fd = syscall(SYS_pidfd_open, pids[i], 0);
		assert_true(pfds[i].fd >= 0);
	}
	assert_int_equal(kill(daemon, SIGKILL), 0);
	assert_int_equal(waitpid(daemon, NULL, 0), daemon);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(poll(&pfds[i], 1, LIMIT_MS), 1);
		close(pfds[i].fd);
	}
	close(fds[0]);
	close(fds[1]);
}

/* They have no capabilities. */
static void they_have_no_rights(void **state)
{
	struct world *w = *state;
	struct proxy *x = start(w, "-a", NULL);
	struct buf b = { 0 };
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", x->pid);
	assert_int_equal(buf__read_file(&b, path, 1 << 16), 0);
	assert_non_null(strstr(b.data, "CapPrm:\t0000000000000000\n"));
	assert_non_null(strstr(b.data, "NoNewPrivs:\t1\n"));
	assert_non_null(strstr(b.data, "Name:\tsession-one\n"));
	buf__free(&b);
	proxy__unref(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(signals_are_told, set_up_world, tear_down_world),
		cmocka_unit_test_setup_teardown(the_fifo_is_served, set_up_world, tear_down_world),
		cmocka_unit_test_setup_teardown(wrong_file_for_a_fifo_is_reported, set_up_world,
						tear_down_world),
		cmocka_unit_test_setup_teardown(a_command_runs, set_up_world, tear_down_world),
		cmocka_unit_test_setup_teardown(a_missing_command_is_told, set_up_world,
						tear_down_world),
		cmocka_unit_test_setup_teardown(the_command_ends_with_it, set_up_world,
						tear_down_world),
		cmocka_unit_test_setup_teardown(processes_are_shared, set_up_world,
						tear_down_world),
		cmocka_unit_test_setup_teardown(they_end_with_a_killed_daemon, set_up_world,
						tear_down_world),
		cmocka_unit_test_setup_teardown(they_have_no_rights, set_up_world, tear_down_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
