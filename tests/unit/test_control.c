// SPDX-License-Identifier: GPL-2.0-only
/* The server runs in the test itself, which plays its loop; clients are sockets of the test, or
 * children where they must wait for an answer. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/buf.h"
#include "daemon/control.h"

#define HELD_MAX 64

struct server {
	char dir[64], path[128];
	struct control *c;
	struct control_client *held[HELD_MAX]; /* to be answered later */
	size_t n_held, served;
	struct err err;
};

/* ---- the server ---- */

static void answer_held(struct server *s)
{
	while (s->n_held)
		control_client__reply(s->held[--s->n_held], json_pack("{s:b}", "ok", 1));
}

static json_t *big_text(void)
{
	char *text = malloc(500000);
	json_t *j;

	assert_non_null(text);
	memset(text, 'x', 500000);
	j = json_stringn(text, 500000);
	free(text);
	return j;
}

static void serve(struct control_client *cl, const json_t *request, void *arg)
{
	const char *cmd = json_string_value(json_object_get(request, "cmd"));
	struct server *s = arg;

	s->served++;
	if (!cmd)
		control_client__refuse(cl, "no %s", "cmd");
	else if (strcmp(cmd, "hold") == 0)
		s->held[s->n_held++] = cl;
	else if (strcmp(cmd, "big") == 0)
		control_client__reply(cl, json_pack("{s:b, s:o}", "ok", 1, "text", big_text()));
	else if (strcmp(cmd, "nothing") == 0)
		control_client__reply(cl, NULL);
	else if (cmd[0] == '!')
		control_client__refuse(cl, "%s", cmd);
	else
		control_client__reply(cl, json_pack("{s:b, s:s}", "ok", 1, "echo", cmd));
	if (cmd && strcmp(cmd, "release") == 0)
		answer_held(s);
}

static int set_up(void **state)
{
	struct server *s = calloc(1, sizeof(*s));

	if (!s)
		return -1;
	strcpy(s->dir, "/tmp/frbpf-control-XXXXXX");
	if (!mkdtemp(s->dir))
		return -1;
	snprintf(s->path, sizeof(s->path), "%s/control", s->dir);
	*state = s;
	return control__listen(s->path, serve, s, &s->err, &s->c);
}

static int tear_down(void **state)
{
	struct server *s = *state;
	int left;

	control__free(s->c);
	left = access(s->path, F_OK) == 0;
	rmdir(s->dir);
	free(s);
	return left ? -1 : 0;
}

/* All that can be done now. */
static void run(struct server *s)
{
	struct pollfd pfd = { .fd = control__fd(s->c), .events = POLLIN };

	while (poll(&pfd, 1, 0) > 0)
		control__process(s->c);
}

/* ---- clients ---- */

static int connect_to(struct server *s)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%.100s", s->path);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	run(s);
	return fd;
}

static void say_len(struct server *s, int fd, const char *text, size_t len)
{
	assert_int_equal(send(fd, text, len, MSG_NOSIGNAL), len);
	run(s);
}

static void say(struct server *s, int fd, const char *text)
{
	say_len(s, fd, text, strlen(text));
}

/* The server has closed the connection without a word. */
static void check_dropped(int fd)
{
	char c;
	ssize_t n = recv(fd, &c, 1, MSG_DONTWAIT);

	assert_true(n == 0 || (n < 0 && errno == ECONNRESET));
	close(fd);
}

static void check_silent(int fd)
{
	char c;

	assert_int_equal(recv(fd, &c, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
}

/* One line of JSON, then the end. */
static json_t *hear(int fd)
{
	struct buf b = { 0 };
	json_t *j;

	assert_int_equal(buf__read_fd(&b, fd, 65536), 0);
	assert_true(b.len > 0);
	assert_ptr_equal(strchr(b.data, '\n'), b.data + b.len - 1);
	j = json_loadb(b.data, b.len, 0, NULL);
	assert_non_null(j);
	buf__free(&b);
	close(fd);
	return j;
}

static void check_echo(int fd, const char *want)
{
	json_t *j = hear(fd);

	assert_true(json_is_true(json_object_get(j, "ok")));
	assert_string_equal(json_string_value(json_object_get(j, "echo")), want);
	json_decref(j);
}

static void check_ok(int fd)
{
	json_t *j = hear(fd);

	assert_true(json_is_true(json_object_get(j, "ok")));
	json_decref(j);
}

static void check_refused(int fd, const char *words)
{
	json_t *j = hear(fd);
	const char *error = json_string_value(json_object_get(j, "error"));

	assert_true(json_is_false(json_object_get(j, "ok")));
	assert_non_null(error);
	if (!strstr(error, words))
		fail_msg("'%s' does not say '%s'", error, words);
	json_decref(j);
}

/* A child with a pipe that ends with it. */
struct child {
	pid_t pid;
	int ended;
};

static struct child ask_in_child(const struct server *s, const char *cmd, size_t want)
{
	int fds[2];
	struct child c;
	struct err err;
	json_t *reply;

	assert_int_equal(pipe(fds), 0);
	c = (struct child){ fork(), fds[0] };
	assert_true(c.pid >= 0);
	if (c.pid == 0) {
		if (control__request(s->path, json_pack("{s:s}", "cmd", cmd), &err, &reply))
			_exit(1);
		if (!json_is_true(json_object_get(reply, "ok")))
			_exit(2);
		if (json_string_length(json_object_get(reply, "text")) != want)
			_exit(3);
		_exit(0);
	}
	close(fds[1]);
	return c;
}

static void check_child(struct child *c)
{
	int status;

	assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
	assert_int_equal(status, 0);
	close(c->ended);
}

/* Serve until the child has gone. */
static void serve_child(struct server *s, struct child *c)
{
	struct pollfd pfd[2] = { { .fd = control__fd(s->c), .events = POLLIN },
				 { .fd = c->ended } };

	while (poll(pfd, 2, -1) > 0 && !pfd[1].revents)
		control__process(s->c);
	check_child(c);
}

/* ---- requests ---- */

static void test_request_and_answer(void **state)
{
	struct server *s = *state;
	struct child c;
	struct stat st;

	assert_int_equal(stat(s->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	for (int i = 0; i < 3; i++) {
		c = ask_in_child(s, "ping", 0);
		serve_child(s, &c);
	}
	assert_int_equal(s->served, 3);
}

static void test_in_pieces(void **state)
{
	struct server *s = *state;
	int fd = connect_to(s);

	say(s, fd, "{\"cmd\": ");
	say(s, fd, "\"hel");
	say(s, fd, "lo\"}");
	assert_int_equal(s->served, 0);
	check_silent(fd);
	say(s, fd, "\n");
	assert_int_equal(s->served, 1);
	check_echo(fd, "hello");
}

static void test_malformed(void **state)
{
	static const char *const bad[] = {
		"\n",
		"{\n",
		"nope\n",
		"[1]\n",
		"\"text\"\n",
		"42\n",
		"null\n",
		"{\"cmd\":\"a\"}{}\n",
		"{\"cmd\":\"\xff\"}\n",
		"{\"cmd\": 1,}\n",
		"{\"cmd\":\"a\"}\n{\"cmd\":\"b\"}\n",
	};
	struct server *s = *state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int fd = connect_to(s);

		say(s, fd, bad[i]);
		check_refused(fd, "is not a JSON object");
	}
	assert_int_equal(s->served, 0);
}

static void test_deep(void **state)
{
	struct server *s = *state;
	int fd = connect_to(s);
	char text[60000];

	memset(text, '[', sizeof(text));
	text[sizeof(text) - 1] = '\n';
	say_len(s, fd, text, sizeof(text));
	check_refused(fd, "is not a JSON object");
}

static void test_oversized(void **state)
{
	struct server *s = *state;
	size_t max = 64 * 1024;
	char *text = malloc(max + 1);
	int fd = connect_to(s);

	assert_non_null(text);
	memset(text, ' ', max + 1);
	memcpy(text, "{\"cmd\":\"large\"}", 15);
	text[max - 1] = '\n';
	say_len(s, fd, text, max);
	check_echo(fd, "large");

	fd = connect_to(s);
	text[max - 1] = ' ';
	text[max] = '\n';
	say_len(s, fd, text, max + 1);
	check_dropped(fd);
	assert_int_equal(s->served, 1);
	free(text);
}

static void test_refused(void **state)
{
	struct server *s = *state;
	int fd = connect_to(s);

	say(s, fd, "{}\n");
	check_refused(fd, "no cmd");
}

/* Words that are cut where a character of several bytes stands must still be an answer. */
static void test_refused_with_long_names(void **state)
{
	struct server *s = *state;
	struct buf b = { 0 };

	for (int pad = 0; pad < 3; pad++) {
		int fd = connect_to(s);

		buf__free(&b);
		assert_int_equal(buf__printf(&b, "{\"cmd\":\"!%.*s", pad, "aa"), 0);
		for (int i = 0; i < 500; i++)
			assert_int_equal(buf__add_str(&b, "\xe2\x82\xac"), 0);
		assert_int_equal(buf__add_str(&b, "\"}\n"), 0);
		say_len(s, fd, b.data, b.len);
		check_refused(fd, "!");
	}
	buf__free(&b);
}

static void test_no_answer(void **state)
{
	struct server *s = *state;
	int fd = connect_to(s);

	say(s, fd, "{\"cmd\":\"nothing\"}\n"); /* out of memory, for example */
	check_dropped(fd);
}

/* ---- many, late, gone ---- */

static void test_many_clients(void **state)
{
	struct server *s = *state;
	int fds[32], extra;

	for (int i = 0; i < 32; i++) {
		fds[i] = connect_to(s);
		say(s, fds[i], "{\"cmd\":\"hold\"}\n");
	}
	assert_int_equal(s->n_held, 32);
	extra = connect_to(s);
	check_refused(extra, "too many commands");
	answer_held(s);
	for (int i = 0; i < 32; i++)
		check_ok(fds[i]);
	for (int i = 0; i < 100; i++) { /* places are free again */
		fds[0] = connect_to(s);
		say(s, fds[0], "{\"cmd\":\"x\"}\n");
		check_echo(fds[0], "x");
	}
	assert_int_equal(s->served, 132);
}

/* Who only holds a place gives it to who has something to ask, the longest silent one first. */
static void test_idle_clients(void **state)
{
	struct server *s = *state;
	int fds[32], extra;

	for (int i = 0; i < 32; i++)
		fds[i] = connect_to(s);
	say(s, fds[0], "{"); /* so this one is not */
	extra = connect_to(s);
	say(s, extra, "{\"cmd\":\"x\"}\n");
	check_echo(extra, "x");
	check_dropped(fds[1]);
	check_silent(fds[0]);
	close(fds[0]);
	for (int i = 2; i < 32; i++)
		close(fds[i]);
	run(s);
}

/* Without descriptors a client is told so, and does not stay in the queue where it is seen again and
 * again. */
static void test_no_descriptors(void **state)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct server *s = *state;
	struct rlimit old, none;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct pollfd pfd = { .fd = control__fd(s->c), .events = POLLIN };

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%.100s", s->path);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = fd + 1; /* all below are taken */
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	for (int i = 0; i < 4; i++)
		control__process(s->c);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	check_refused(fd, "no file descriptors left");
	assert_int_equal(poll(&pfd, 1, 0), 0);
}

/* Listens as another user, with an answer that would move the cursor. */
static void test_of_another_user(void **state)
{
	struct server *s = *state;
	json_t *reply;
	struct err err;
	pid_t pid;
	int status;

	if (geteuid() != 0)
		skip();
	assert_int_equal(chown(s->dir, 12345, -1), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		control__free(s->c);
		if (setuid(12345) || control__listen(s->path, serve, s, &s->err, &s->c))
			_exit(1);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(control__request(s->path, json_pack("{s:s}", "cmd", "x"), &err, &reply),
			 -EPERM);
	assert_non_null(strstr(err.msg, "is of uid 12345"));
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	unlink(s->path);
}

/* It never answers, and its client must not wait for ever. */
static void test_stopped(void **state)
{
	struct server *s = *state;
	json_t *reply;
	struct err err;
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		control__free(s->c);
		if (control__listen(s->path, serve, s, &s->err, &s->c))
			_exit(1);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(control__request(s->path, json_pack("{s:s}", "cmd", "x"), &err, &reply),
			 -ETIMEDOUT);
	assert_non_null(strstr(err.msg, "is stopped"));
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

static void test_printable(void **state)
{
	struct server *s = *state;
	struct err err;
	json_t *reply;
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		struct pollfd pfd = { .fd = control__fd(s->c), .events = POLLIN };

		while (!s->served && poll(&pfd, 1, -1) > 0)
			control__process(s->c);
		_exit(0);
	}
	assert_int_equal(control__request(s->path,
					  json_pack("{s:s}", "cmd", "a\n\tb\x1b[2J\xc2\x9b"), &err,
					  &reply),
			 0);
	assert_string_equal(json_string_value(json_object_get(reply, "echo")), "a\n\tb?[2J??");
	json_decref(reply);
	waitpid(pid, &status, 0);
}

static void test_many_children(void **state)
{
	struct server *s = *state;
	struct child c[8];

	for (int i = 0; i < 8; i++)
		c[i] = ask_in_child(s, i % 2 ? "big" : "ping", i % 2 ? 500000 : 0);
	for (int i = 0; i < 8; i++)
		serve_child(s, &c[i]);
	assert_int_equal(s->served, 8);
}

static void test_late_answer(void **state)
{
	struct server *s = *state;
	int first = connect_to(s), second;

	say(s, first, "{\"cmd\":\"hold\"}\n");
	check_silent(first);
	second = connect_to(s);
	say(s, second, "{\"cmd\":\"meanwhile\"}\n");
	check_echo(second, "meanwhile");
	check_silent(first);
	answer_held(s);
	check_ok(first);
}

static void test_gone_before_the_request(void **state)
{
	struct server *s = *state;
	int fd = connect_to(s);

	close(fd);
	run(s);
	fd = connect_to(s);
	say(s, fd, "{\"cmd\":");
	close(fd);
	run(s);
	assert_int_equal(s->served, 0);
}

static void test_gone_before_the_answer(void **state)
{
	struct server *s = *state;
	int fd;

	for (int i = 0; i < 40; i++) { /* more than there are places: they do not leak */
		fd = connect_to(s);
		say(s, fd, "{\"cmd\":\"hold\"}\n");
		close(fd);
		if (i % 2) /* the server has seen it, or has not */
			run(s);
		answer_held(s);
		run(s);
	}
	assert_int_equal(s->served, 40);
	fd = connect_to(s);
	say(s, fd, "{\"cmd\":\"x\"}\n");
	check_echo(fd, "x");
}

/* One request answers another client, which hangs up in the same moment. */
static void test_answered_while_it_hangs_up(void **state)
{
	struct server *s = *state;
	int held = connect_to(s), other = connect_to(s);

	say(s, held, "{\"cmd\":\"hold\"}\n");
	assert_int_equal(send(other, "{\"cmd\":\"release\"}\n", 18, 0), 18);
	close(held);
	run(s);
	assert_int_equal(s->n_held, 0);
	check_echo(other, "release");
}

/* An answer larger than a socket's buffer goes in pieces. */
static void test_big_answer(void **state)
{
	struct server *s = *state;
	struct child c = ask_in_child(s, "big", 500000);
	int fd = connect_to(s);

	serve_child(s, &c);
	say(s, fd, "{\"cmd\":\"big\"}\n"); /* and one who does not wait for it */
	close(fd);
	run(s);
	fd = connect_to(s);
	say(s, fd, "{\"cmd\":\"x\"}\n");
	check_echo(fd, "x");
}

static void test_freed_with_clients(void **state)
{
	struct server *s = *state;
	int held = connect_to(s), reading = connect_to(s);

	say(s, held, "{\"cmd\":\"hold\"}\n");
	say(s, reading, "{\"cmd\"");
	control__free(s->c);
	s->c = NULL;
	check_dropped(held);
	check_dropped(reading);
	assert_int_equal(access(s->path, F_OK), -1);
}

/* What was answered last is still sent: that of `stop`. */
static void test_last_words(void **state)
{
	struct server *s = *state;
	struct child c = ask_in_child(s, "hold", 500000);
	struct pollfd pfd = { .fd = control__fd(s->c), .events = POLLIN };

	while (!s->n_held && poll(&pfd, 1, -1) > 0)
		control__process(s->c);
	control_client__reply(s->held[0], json_pack("{s:b, s:o}", "ok", 1, "text", big_text()));
	control__free(s->c);
	s->c = NULL;
	check_child(&c);
}

/* ---- addresses ---- */

static void test_stale_socket(void **state)
{
	struct server *s = *state;
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int dead = socket(AF_UNIX, SOCK_STREAM, 0), fd;
	struct err err = { 0 };
	json_t *reply;

	control__free(s->c);
	s->c = NULL;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%.100s", s->path);
	assert_int_equal(control__request(s->path, json_object(), &err, &reply), -ENOENT);
	assert_int_equal(bind(dead, (struct sockaddr *)&addr, sizeof(addr)), 0);
	close(dead);
	assert_int_equal(control__request(s->path, json_object(), &err, &reply), -ECONNREFUSED);
	assert_non_null(strstr(err.msg, s->path));
	assert_int_equal(control__listen(s->path, serve, s, &err, &s->c), 0);
	fd = connect_to(s);
	say(s, fd, "{\"cmd\":\"x\"}\n");
	check_echo(fd, "x");
}

static void test_paths(void **state)
{
	struct server *s = *state;
	struct control *c = NULL;
	struct err err = { 0 };
	char path[200];
	json_t *reply;

	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[108] = '\0'; /* one byte more than sun_path takes with its NUL */
	assert_int_equal(control__listen(path, serve, s, &err, &c), -ENAMETOOLONG);
	assert_non_null(strstr(err.msg, "choose a shorter base"));
	assert_int_equal(control__request(path, json_object(), &err, &reply), -ENAMETOOLONG);
	path[107] = '\0';
	assert_int_equal(control__request(path, json_object(), &err, &reply), -ENOENT);
	snprintf(path, sizeof(path), "%s/none/control", s->dir);
	assert_int_equal(control__listen(path, serve, s, &err, &c), -ENOENT);
	assert_non_null(strstr(err.msg, path));
	assert_null(c);
}

#define control_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		control_test(test_request_and_answer),
		control_test(test_in_pieces),
		control_test(test_malformed),
		control_test(test_deep),
		control_test(test_oversized),
		control_test(test_refused),
		control_test(test_refused_with_long_names),
		control_test(test_no_answer),
		control_test(test_many_clients),
		control_test(test_many_children),
		control_test(test_idle_clients),
		control_test(test_no_descriptors),
		control_test(test_stopped),
		control_test(test_of_another_user),
		control_test(test_printable),
		control_test(test_late_answer),
		control_test(test_gone_before_the_request),
		control_test(test_gone_before_the_answer),
		control_test(test_answered_while_it_hangs_up),
		control_test(test_big_answer),
		control_test(test_freed_with_clients),
		control_test(test_last_words),
		control_test(test_stale_socket),
		control_test(test_paths),
	};

	alarm(50); /* a test that waits for ever has failed */
	return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
