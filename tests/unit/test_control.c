// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests and answers over the control socket, and which peers are trusted.
 * with: others
 */
#include <signal.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "control_fixture.h"

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
	int fd = connect_client(s);

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

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		int fd = connect_client(s);

		say(s, fd, bad[i]);
		check_refused(fd, "is not a JSON object");
	}
	assert_int_equal(s->served, 0);
}

static void test_deep(void **state)
{
	struct server *s = *state;
	int fd = connect_client(s);
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
	int fd = connect_client(s);

	assert_non_null(text);
	memset(text, ' ', max + 1);
	memcpy(text, "{\"cmd\":\"large\"}", 15);
	text[max - 1] = '\n';
	say_len(s, fd, text, max);
	check_echo(fd, "large");

	fd = connect_client(s);
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
	int fd = connect_client(s);

	say(s, fd, "{}\n");
	check_refused(fd, "no cmd");
}

/* A text cut within a multi-byte character must still give a valid answer. */
static void test_refused_with_long_names(void **state)
{
	struct server *s = *state;
	struct buf b = { 0 };

	for (int pad = 0; pad < 3; pad++) {
		int fd = connect_client(s);

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
	int fd = connect_client(s);

	say(s, fd, "{\"cmd\":\"nothing\"}\n"); /* the server gives no answer, as if out of memory */
	check_dropped(fd);
}

/* ---- servers ---- */

/* Listens as another user, and answers with an escape sequence. */
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
		if (setuid(12345) || control__listen(s->path, serve_client, s, &s->err, &s->c))
			_exit(1);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(control__request(s->path, json_pack("{s:s}", "cmd", "x"), &err, &reply),
			 -EPERM);
	assert_non_null(strstr(err.msg, "runs as uid 12345"));
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	unlink(s->path);
}

/* The server never answers; the client must not wait for ever. */
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
		if (control__listen(s->path, serve_client, s, &s->err, &s->c))
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
	assert_int_equal(control__listen(s->path, serve_client, s, &err, &s->c), 0);
	fd = connect_client(s);
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
	path[108] = '\0'; /* one byte too many for sun_path with its NUL */
	assert_int_equal(control__listen(path, serve_client, s, &err, &c), -ENAMETOOLONG);
	assert_non_null(strstr(err.msg, "choose a shorter base"));
	assert_int_equal(control__request(path, json_object(), &err, &reply), -ENAMETOOLONG);
	path[107] = '\0';
	assert_int_equal(control__request(path, json_object(), &err, &reply), -ENOENT);
	snprintf(path, sizeof(path), "%s/none/control", s->dir);
	assert_int_equal(control__listen(path, serve_client, s, &err, &c), -ENOENT);
	assert_non_null(strstr(err.msg, path));
	assert_null(c);
}

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
		control_test(test_stopped),
		control_test(test_of_another_user),
		control_test(test_printable),
		control_test(test_stale_socket),
		control_test(test_paths),
	};

	alarm(50); /* a test that hangs has failed */
	return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
