// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many clients of the control socket, idle, late or gone.
 * with: others
 */
#include <sys/resource.h>

#include "control_fixture.h"

static void test_many_clients(void **state)
{
	struct server *s = *state;
	int fds[32], extra;

	for (int i = 0; i < 32; i++) {
		fds[i] = connect_client(s);
		say(s, fds[i], "{\"cmd\":\"hold\"}\n");
	}
	assert_int_equal(s->n_held, 32);
	extra = connect_client(s);
	check_refused(extra, "too many commands");
	answer_held(s);
	for (int i = 0; i < 32; i++)
		check_ok(fds[i]);
	for (int i = 0; i < 100; i++) { /* the slots are free again */
		fds[0] = connect_client(s);
		say(s, fds[0], "{\"cmd\":\"x\"}\n");
		check_echo(fds[0], "x");
	}
	assert_int_equal(s->served, 132);
}

/* Idle clients lose their slot to one with a request, the longest idle first. */
static void test_idle_clients(void **state)
{
	struct server *s = *state;
	int fds[32], extra;

	for (int i = 0; i < 32; i++)
		fds[i] = connect_client(s);
	say(s, fds[0], "{"); /* a request has begun: this client keeps its slot */
	extra = connect_client(s);
	say(s, extra, "{\"cmd\":\"x\"}\n");
	check_echo(extra, "x");
	check_dropped(fds[1]);
	check_silent(fds[0]);
	close(fds[0]);
	for (int i = 2; i < 32; i++)
		close(fds[i]);
	run(s);
}

/*
 * Without free descriptors a client is refused with a message. It does not stay in the queue, where
 * it would be seen again and again.
 */
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
	none.rlim_cur = fd + 1; /* all lower numbers are in use */
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	for (int i = 0; i < 4; i++)
		control__process(s->c);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	check_refused(fd, "no file descriptors left");
	assert_int_equal(poll(&pfd, 1, 0), 0);
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
	int first = connect_client(s), second;

	say(s, first, "{\"cmd\":\"hold\"}\n");
	check_silent(first);
	second = connect_client(s);
	say(s, second, "{\"cmd\":\"meanwhile\"}\n");
	check_echo(second, "meanwhile");
	check_silent(first);
	answer_held(s);
	check_ok(first);
}

static void test_gone_before_the_request(void **state)
{
	struct server *s = *state;
	int fd = connect_client(s);

	close(fd);
	run(s);
	fd = connect_client(s);
	say(s, fd, "{\"cmd\":");
	close(fd);
	run(s);
	assert_int_equal(s->served, 0);
}

static void test_gone_before_the_answer(void **state)
{
	struct server *s = *state;
	int fd;

	for (int i = 0; i < 40; i++) { /* more clients than slots: none leaks */
		fd = connect_client(s);
		say(s, fd, "{\"cmd\":\"hold\"}\n");
		close(fd);
		if (i % 2) /* the server may or may not have seen it yet */
			run(s);
		answer_held(s);
		run(s);
	}
	assert_int_equal(s->served, 40);
	fd = connect_client(s);
	say(s, fd, "{\"cmd\":\"x\"}\n");
	check_echo(fd, "x");
}

/* A request is answered while its client hangs up. */
static void test_answered_while_it_hangs_up(void **state)
{
	struct server *s = *state;
	int held = connect_client(s), other = connect_client(s);

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
	int fd = connect_client(s);

	serve_child(s, &c);
	say(s, fd, "{\"cmd\":\"big\"}\n"); /* another client, which does not read the answer */
	close(fd);
	run(s);
	fd = connect_client(s);
	say(s, fd, "{\"cmd\":\"x\"}\n");
	check_echo(fd, "x");
}

static void test_freed_with_clients(void **state)
{
	struct server *s = *state;
	int held = connect_client(s), reading = connect_client(s);

	say(s, held, "{\"cmd\":\"hold\"}\n");
	say(s, reading, "{\"cmd\"");
	control__free(s->c);
	s->c = NULL;
	check_dropped(held);
	check_dropped(reading);
	assert_int_equal(access(s->path, F_OK), -1);
}

/* The last answer, to `stop`, is still sent. */
static void test_answer_to_stop_is_sent(void **state)
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		control_test(test_many_clients),
		control_test(test_many_children),
		control_test(test_idle_clients),
		control_test(test_no_descriptors),
		control_test(test_late_answer),
		control_test(test_gone_before_the_request),
		control_test(test_gone_before_the_answer),
		control_test(test_answered_while_it_hangs_up),
		control_test(test_big_answer),
		control_test(test_freed_with_clients),
		control_test(test_answer_to_stop_is_sent),
	};

	alarm(50); /* a test that hangs has failed */
	return cmocka_run_group_tests_name("control clients", tests, NULL, NULL);
}
