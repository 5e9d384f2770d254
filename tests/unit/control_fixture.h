/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by tests of the control socket: a server in the test's own process, and clients. A client
 * is a socket of the test, or a child if it must wait for an answer.
 */
#ifndef TESTS_UNIT_CONTROL_FIXTURE_H
#define TESTS_UNIT_CONTROL_FIXTURE_H

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
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
	struct control_client *held[HELD_MAX]; /* clients that the test answers later */
	size_t n_held, served;
	struct err err;
};

/* ---- the server ---- */

static inline void answer_held(struct server *s)
{
	while (s->n_held)
		control_client__reply(s->held[--s->n_held], json_pack("{s:b}", "ok", 1));
}

static inline json_t *big_text(void)
{
	char *text = malloc(500000);
	json_t *j;

	assert_non_null(text);
	memset(text, 'x', 500000);
	j = json_stringn(text, 500000);
	free(text);
	return j;
}

static inline void serve_client(struct control_client *cl, const json_t *request, void *arg)
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

static inline int set_up_server(void **state)
{
	struct server *s = calloc(1, sizeof(*s));

	if (!s)
		return -1;
	strcpy(s->dir, "/tmp/frbpf-control-XXXXXX");
	if (!mkdtemp(s->dir))
		return -1;
	snprintf(s->path, sizeof(s->path), "%s/control", s->dir);
	*state = s;
	return control__listen(s->path, serve_client, s, &s->err, &s->c);
}

static inline int tear_down_server(void **state)
{
	struct server *s = *state;
	int left;

	control__free(s->c);
	left = access(s->path, F_OK) == 0;
	rmdir(s->dir);
	free(s);
	return left ? -1 : 0;
}

/* Serve everything that is ready. */
static inline void run(struct server *s)
{
	struct pollfd pfd = { .fd = control__fd(s->c), .events = POLLIN };

	while (poll(&pfd, 1, 0) > 0)
		control__process(s->c);
}

/* ---- clients ---- */

static inline int connect_client(struct server *s)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%.100s", s->path);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	run(s);
	return fd;
}

static inline void say_len(struct server *s, int fd, const char *text, size_t len)
{
	assert_int_equal(send(fd, text, len, MSG_NOSIGNAL), len);
	run(s);
}

static inline void say(struct server *s, int fd, const char *text)
{
	say_len(s, fd, text, strlen(text));
}

/* The server closed the connection without an answer. */
static inline void check_dropped(int fd)
{
	char c;
	ssize_t n = recv(fd, &c, 1, MSG_DONTWAIT);

	assert_true(n == 0 || (n < 0 && errno == ECONNRESET));
	close(fd);
}

static inline void check_silent(int fd)
{
	char c;

	assert_int_equal(recv(fd, &c, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
}

/* Read the reply: one line of JSON, then the end of the connection. */
static inline json_t *hear(int fd)
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

static inline void check_echo(int fd, const char *want)
{
	json_t *j = hear(fd);

	assert_true(json_is_true(json_object_get(j, "ok")));
	assert_string_equal(json_string_value(json_object_get(j, "echo")), want);
	json_decref(j);
}

static inline void check_ok(int fd)
{
	json_t *j = hear(fd);

	assert_true(json_is_true(json_object_get(j, "ok")));
	json_decref(j);
}

static inline void check_refused(int fd, const char *words)
{
	json_t *j = hear(fd);
	const char *error = json_string_value(json_object_get(j, "error"));

	assert_true(json_is_false(json_object_get(j, "ok")));
	assert_non_null(error);
	if (!strstr(error, words))
		fail_msg("'%s' does not say '%s'", error, words);
	json_decref(j);
}

/* A child, and a pipe that closes when it ends. */
struct child {
	pid_t pid;
	int ended;
};

static inline struct child ask_in_child(const struct server *s, const char *cmd, size_t want)
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

static inline void check_child(struct child *c)
{
	int status;

	assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
	assert_int_equal(status, 0);
	close(c->ended);
}

/* Serve until the child has ended. */
static inline void serve_child(struct server *s, struct child *c)
{
	struct pollfd pfd[2] = { { .fd = control__fd(s->c), .events = POLLIN },
				 { .fd = c->ended } };

	while (poll(pfd, 2, -1) > 0 && !pfd[1].revents)
		control__process(s->c);
	check_child(c);
}

#define control_test(f) cmocka_unit_test_setup_teardown(f, set_up_server, tear_down_server)

#endif
