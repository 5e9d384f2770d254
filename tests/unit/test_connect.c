// SPDX-License-Identifier: GPL-2.0-only
/* connect on the running kernel: TCP sockets in a separate network namespace. */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "detect_fixture.h"

#include "connect.skel.h"

/* The children's namespace; the test itself stays outside. */
struct findings {
	uint64_t begin, end;
	uint16_t port;
	int error;
};

static bool enter_network(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	_cleanup_close_ int fd = -1;

	if (unshare(CLONE_NEWNET))
		return false;
	prctl(PR_SET_NAME, subject_name());
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return fd >= 0 && !ioctl(fd, SIOCSIFFLAGS, &lo);
}

/* A loopback address; the kernel chooses the port if @port is 0. */
static socklen_t loopback(int family, uint16_t port, struct sockaddr_in6 *ret)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret;

	*ret = (struct sockaddr_in6){ 0 };
	if (family == AF_INET) {
		*v4 = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port) };
		v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return sizeof(*v4);
	}
	*ret = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons(port) };
	ret->sin6_addr = in6addr_loopback;
	return sizeof(*ret);
}

static int listen_on(int family, int backlog, uint16_t *ret_port)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in6 a;
	socklen_t len = loopback(family, 0, &a);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, len) || listen(fd, backlog) ||
	    getsockname(fd, (struct sockaddr *)&a, &len))
		return -1;
	*ret_port = ntohs(a.sin6_port); /* the port has the same offset as in IPv4 */
	return fd;
}

/* Connect a socket without waiting. */
static int begin_connect(int family, uint16_t port)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_in6 a;
	socklen_t len = loopback(family, port, &a);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&a, len) && errno != EINPROGRESS)
		return -1;
	return fd;
}

/* The error of a non-blocking connect(), read once the socket is writable. */
static int connect_error(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	socklen_t len = sizeof(int);
	int error;

	if (poll(&p, 1, -1) != 1 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len))
		return -1;
	return error;
}

static int connect_once(struct findings *f, int family)
{
	int listener, fd;

	if (!enter_network())
		return 2;
	listener = listen_on(family, 8, &f->port);
	if (listener < 0)
		return 3;
	f->begin = now_ns();
	fd = begin_connect(family, f->port);
	f->error = connect_error(fd);
	f->end = now_ns();
	return f->error ? 1 : 0;
}

static int connect_v4(void *arg)
{
	return connect_once(arg, AF_INET);
}

static int connect_v6(void *arg)
{
	return connect_once(arg, AF_INET6);
}

/* Connect to a port where nobody listens any more. */
static int connect_refused(void *arg)
{
	struct findings *f = arg;
	int listener, fd;

	if (!enter_network())
		return 2;
	listener = listen_on(AF_INET, 1, &f->port);
	if (listener < 0 || close(listener))
		return 3;
	fd = begin_connect(AF_INET, f->port);
	f->error = connect_error(fd);
	return f->error == ECONNREFUSED ? 0 : 1;
}

static uint8_t syns_sent_again(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) ? 0 : info.tcpi_total_retrans;
}

/*
 * The backlog has room for one connection. The kernel drops the SYN of a second one until the first
 * is accepted. The SYN is repeated after a second.
 */
static int connect_to_full_queue(struct findings *f, bool give_up)
{
	int listener, fd;

	if (!enter_network())
		return 2;
	listener = listen_on(AF_INET, 0, &f->port);
	if (listener < 0 || connect_error(begin_connect(AF_INET, f->port)))
		return 3;
	f->begin = now_ns();
	fd = begin_connect(AF_INET, f->port);
	while (!syns_sent_again(fd) && poll(NULL, 0, 10) == 0)
		;
	if (give_up)
		return close(fd);
	if (accept(listener, NULL, NULL) < 0)
		return 4;
	f->error = connect_error(fd);
	f->end = now_ns();
	return f->error ? 1 : 0;
}

static int connect_late(void *arg)
{
	return connect_to_full_queue(arg, false);
}

static int connect_given_up(void *arg)
{
	return connect_to_full_queue(arg, true);
}

/* The socket fails, is reused, and succeeds. */
static int connect_again(void *arg)
{
	struct findings *f = arg;
	struct sockaddr_in6 a;
	int listener, fd;
	socklen_t len;

	if (!enter_network())
		return 2;
	listener = listen_on(AF_INET, 8, &f->port);
	fd = begin_connect(AF_INET, 1);
	if (listener < 0 || connect_error(fd) != ECONNREFUSED)
		return 3;
	f->begin = now_ns();
	len = loopback(AF_INET, f->port, &a);
	while (connect(fd, (struct sockaddr *)&a, len) && errno != EINPROGRESS)
		if (errno != ECONNABORTED)
			return 4;
	f->error = connect_error(fd);
	f->end = now_ns();
	return f->error ? 1 : 0;
}

/* What the rules saw of a child. */
struct seen {
	struct findings *f;
	struct sink got;
	struct frbpf_rule_state st[4];
	uint64_t missing;
	pid_t pid;
};

static char *of_subject(const char *more)
{
	static char text[4][128];
	static int n;
	char *ret = text[n++ % 4];

	snprintf(ret, sizeof(text[0]), "comm == \"%s\"%s", subject_name(), more);
	return ret;
}

static struct seen look_at(int (*fn)(void *arg), struct rule_conf *rules, size_t n)
{
	struct seen s = { .f = shared_memory(sizeof(*s.f)) };
	struct detectors *d;
	uint32_t slots[4];

	d = detectors_with(rules, n, slots);
	assert_int_equal(in_child(fn, s.f, &s.pid), 0);
	s.got = collect(d, 2000);
	for (size_t i = 0; i < n; i++)
		s.st[i] = state_of(d, slots[i]);
	s.missing = missing(d);
	detectors__free(d);
	free_rules(rules, n);
	return s;
}

static const uint64_t *peer_field(const struct frbpf_trigger *t)
{
	return (const uint64_t *)t->args[FRBPF_CONNECT_PEER - FRBPF_FIELD_ARG];
}

static void check_end(const struct seen *s, enum frbpf_connect_result result, uint64_t error)
{
	const struct frbpf_trigger *t = &s->got.last;

	assert_true(s->got.n >= 1);
	assert_int_equal(t->source, FRBPF_SOURCE_CONNECT);
	assert_int_equal(t->subject.pid, s->pid);
	assert_string_equal(t->subject.comm, subject_name());
	assert_int_equal(arg_value(t, FRBPF_CONNECT_PORT), s->f->port);
	assert_int_equal(arg_value(t, FRBPF_CONNECT_RESULT), result);
	assert_int_equal(arg_value(t, FRBPF_CONNECT_ERROR), error);
	assert_int_equal(s->missing, 0);
}

static void test_established(void **state)
{
	struct rule_conf rules[] = {
		rule_of(1, "connect > 1ns", of_subject(" && peer == 127.0.0.1 && family == inet")),
		rule_of(2, "connect > 2ns", of_subject(" && peer in (127.0.0.0/8, ::1)")),
		rule_of(3, "connect > 3ns", of_subject(" && peer != 127.0.0.0/8")),
		rule_of(4, "connect fails", of_subject("")),
	};
	struct seen s;

	SKIP_UNLESS_POSSIBLE();
	s = look_at(connect_v4, rules, 4);
	check_end(&s, FRBPF_CONNECT_ESTABLISHED, 0);
	assert_true(!peer_field(&s.got.last)[0] && peer_field(&s.got.last)[1] == 0xffff7f000001);
	assert_in_range(s.got.last.value, 1, s.f->end - s.f->begin);
	assert_int_equal(s.st[0].matched, 1);
	assert_int_equal(s.st[1].matched, 1);
	assert_int_equal(s.st[2].matched, 0);
	assert_int_equal(s.st[3].matched, 0);
	munmap(s.f, sizeof(*s.f));
}

static void test_ipv6(void **state)
{
	struct rule_conf rules[] = {
		rule_of(1, "connect > 1ns", of_subject(" && peer == \"::1\" && family == inet6")),
		rule_of(2, "connect > 2ns", of_subject(" && peer == \"::/64\"")),
		rule_of(3, "connect > 3ns", of_subject(" && peer == 0.0.0.0/0")),
	};
	struct seen s;

	SKIP_UNLESS_POSSIBLE();
	SKIP_IF(access("/proc/net/if_inet6", F_OK), "no IPv6 here");
	s = look_at(connect_v6, rules, 3);
	check_end(&s, FRBPF_CONNECT_ESTABLISHED, 0);
	assert_true(!peer_field(&s.got.last)[0] && peer_field(&s.got.last)[1] == 1);
	assert_int_equal(s.st[0].matched, 1);
	assert_int_equal(s.st[1].matched, 1);
	assert_int_equal(s.st[2].matched, 0);
	munmap(s.f, sizeof(*s.f));
}

static void test_refused(void **state)
{
	struct rule_conf rules[] = {
		rule_of(1, "connect fails", of_subject("")),
		rule_of(2, "connect fails (ETIMEDOUT, ECONNREFUSED)",
			of_subject(" && error == ECONNREFUSED && result == failed")),
		rule_of(3, "connect fails (ETIMEDOUT)", of_subject("")),
		rule_of(4, "connect > 1ns", of_subject(" && error == ECONNREFUSED")),
	};
	struct seen s;

	SKIP_UNLESS_POSSIBLE();
	s = look_at(connect_refused, rules, 4);
	check_end(&s, FRBPF_CONNECT_FAILED, ECONNREFUSED);
	assert_int_equal(s.st[0].matched, 1);
	assert_int_equal(s.st[1].matched, 1);
	assert_int_equal(s.st[2].matched, 0);
	assert_int_equal(s.st[3].matched, 1);
	munmap(s.f, sizeof(*s.f));
}

/*
 * The first answered SYN is a repeated one, so the value is above a second whatever delays the
 * test.
 */
static void test_late(void **state)
{
	struct rule_conf rules[] = {
		rule_of(1, "connect > 900ms", of_subject("")),
		rule_of(2, "connect fails", of_subject("")),
	};
	struct seen s;

	SKIP_UNLESS_POSSIBLE();
	s = look_at(connect_late, rules, 2);
	check_end(&s, FRBPF_CONNECT_ESTABLISHED, 0);
	assert_in_range(s.got.last.value, 900 * MS, s.f->end - s.f->begin);
	assert_int_equal(s.st[0].matched, 1);
	assert_int_equal(s.st[1].matched, 0);
	munmap(s.f, sizeof(*s.f));
}

/* The program closes the socket: slow, but no failure. */
static void test_given_up(void **state)
{
	struct rule_conf rules[] = {
		rule_of(1, "connect > 900ms", of_subject(" && result == closed")),
		rule_of(2, "connect fails", of_subject("")),
	};
	struct seen s;

	SKIP_UNLESS_POSSIBLE();
	s = look_at(connect_given_up, rules, 2);
	check_end(&s, FRBPF_CONNECT_CLOSED, 0);
	assert_int_equal(s.st[0].matched, 1);
	assert_int_equal(s.st[1].matched, 0);
	munmap(s.f, sizeof(*s.f));
}

static void test_used_again(void **state)
{
	struct rule_conf rules[] = {
		rule_of(1, "connect > 1ns", of_subject(" && result == established")),
		rule_of(2, "connect fails", of_subject("")),
	};
	struct seen s;

	SKIP_UNLESS_POSSIBLE();
	s = look_at(connect_again, rules, 2);
	check_end(&s, FRBPF_CONNECT_ESTABLISHED, 0);
	assert_in_range(s.got.last.value, 1, s.f->end - s.f->begin);
	assert_int_equal(s.st[0].matched, 1);
	assert_int_equal(s.st[1].matched, 1);
	munmap(s.f, sizeof(*s.f));
}

/* ---- the table ---- */

/* Write one rule that matches everything to the maps of the object itself. */
static void set_rule(struct connect_bpf *skel)
{
	struct frbpf_rule rule = { .flags = FRBPF_RULE_QUIET, .watched_keys[0] = 1 };
	uint32_t zero = 0;

	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.rules), &zero, &rule, BPF_ANY),
			 0);
	skel->bss->control.bank[0].n_rules = 1;
}

/*
 * The table is full of other entries: the connection is counted as missed, and no value is
 * invented.
 */
static void test_full(void **state)
{
	struct connect_bpf *skel;
	struct frbpf_rule_state st;
	struct findings *f;
	uint32_t zero = 0;
	void *other;
	pid_t pid;
	int fd;

	SKIP_UNLESS_POSSIBLE();
	skel = connect_bpf__open_and_load();
	assert_non_null(skel);
	fd = bpf_map__fd(skel->maps.connects);
	other = calloc(1, bpf_map__value_size(skel->maps.connects));
	assert_non_null(other);
	for (uint64_t key = 1; key <= bpf_map__max_entries(skel->maps.connects); key++)
		assert_int_equal(bpf_map_update_elem(fd, &key, other, BPF_ANY), 0);
	set_rule(skel);
	assert_int_equal(connect_bpf__attach(skel), 0);
	f = shared_memory(sizeof(*f));
	assert_int_equal(in_child(connect_v4, f, &pid), 0);
	connect_bpf__detach(skel);
	assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(skel->maps.states), &zero, &st), 0);
	assert_int_equal(st.fired, 0);
	assert_true(skel->bss->dropped >= 1);
	connect_bpf__destroy(skel);
	free(other);
	munmap(f, sizeof(*f));
}

static void test_instructions(void **state)
{
	struct rule_conf r = rule_of(1, "connect > 1h", NULL);
	struct detectors *d;
	uint32_t slot;

	SKIP_UNLESS_POSSIBLE();
	d = detectors_with(&r, 1, &slot);
	assert_true(check_instructions("cn_") >= 2);
	detectors__free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_established), cmocka_unit_test(test_ipv6),
		cmocka_unit_test(test_refused),	    cmocka_unit_test(test_late),
		cmocka_unit_test(test_given_up),    cmocka_unit_test(test_used_again),
		cmocka_unit_test(test_full),	    cmocka_unit_test(test_instructions),
	};

	test_pid();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
