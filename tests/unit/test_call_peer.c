// SPDX-License-Identifier: GPL-2.0-only
/*
 * `peer`, `port` and `family` of system calls on sockets, on the running kernel: connect(),
 * sendto(), accept() and calls on connected sockets, with IPv4, IPv6 and Unix sockets. Skips
 * without root or kernel BTF.
 * with: others
 */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "syscall_fixture.h"

/* ---- sockets ---- */

/* A socket of the test on the loopback device. *ret_port: in host byte order. */
static int bound_socket(int family, int type, uint16_t *ret_port)
{
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_in a4 = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr *a = family == AF_INET ? (struct sockaddr *)&a4 : (struct sockaddr *)&a6;
	socklen_t len = family == AF_INET ? sizeof(a4) : sizeof(a6);
	int fd = socket(family, type | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, a, len), 0);
	assert_int_equal(getsockname(fd, a, &len), 0);
	if (type == SOCK_STREAM)
		assert_int_equal(listen(fd, 8), 0);
	*ret_port = ntohs(family == AF_INET ? a4.sin_port : a6.sin6_port);
	return fd;
}

struct findings_of_peer {
	struct findings f;
	int family, fd;
	uint16_t port, own_port; /* port of the other side, and of this one */
};

static socklen_t address_of(const struct findings_of_peer *p, struct sockaddr_in6 *ret)
{
	struct sockaddr_in a4 = { .sin_family = AF_INET,
				  .sin_port = htons(p->port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	*ret = (struct sockaddr_in6){ .sin6_family = AF_INET6,
				      .sin6_port = htons(p->port),
				      .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	if (p->family == AF_INET6)
		return sizeof(*ret);
	memcpy(ret, &a4, sizeof(a4));
	return sizeof(a4);
}

/* ---- children; each makes one call of each watched kind ---- */

static void run_client(struct findings *f, long how)
{
	struct findings_of_peer *p = (void *)f;
	int type = how == SOCK_DGRAM ? SOCK_DGRAM : SOCK_STREAM, fd;
	struct sockaddr_in6 to;
	socklen_t len = address_of(p, &to);

	name_findings(f);
	fd = socket(p->family, type, 0);
	if (how == SOCK_DGRAM) {
		if (sendto(fd, "x", 1, 0, (struct sockaddr *)&to, len) != 1)
			_exit(1);
		return;
	}
	if (connect(fd, (struct sockaddr *)&to, len) || sendto(fd, "x", 1, 0, NULL, 0) != 1 ||
	    write(fd, "x", 1) != 1)
		_exit(2);
}

static void accept_peer(struct findings *f, long unused)
{
	struct findings_of_peer *p = (void *)f;

	name_findings(f);
	if (accept(p->fd, NULL, NULL) < 0)
		_exit(1);
}

static void run_unix(struct findings *f, long unused)
{
	int pair[2];

	name_findings(f);
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) || sendto(pair[0], "x", 1, 0, NULL, 0) != 1 ||
	    write(pair[0], "x", 1) != 1)
		_exit(1);
}

/* ---- the tests ---- */

static void check_peer_args(const struct frbpf_trigger *t, int family, uint16_t port)
{
	const uint64_t *peer = (const uint64_t *)t->args[FRBPF_SYSCALL_PEER - FRBPF_FIELD_ARG];

	assert_int_equal(arg_value(t, FRBPF_SYSCALL_FAMILY), family);
	assert_int_equal(arg_value(t, FRBPF_SYSCALL_PORT), port);
	assert_int_equal(peer[0], 0);
	assert_int_equal(peer[1], family == AF_INET ? 0xffff7f000001 : 1);
}

/* Rules on @call: for the right peer, for another port, and for another address. */
static void make_rules(struct rule_conf rules[3], const char *call, int family, uint16_t port)
{
	const char *own = family == AF_INET ? "127.0.0.0/8" : "\"::1\"";
	const char *other = family == AF_INET ? "10.0.0.0/8" : "\"::2\"";
	char when[64], condition[160];

	snprintf(when, sizeof(when), "syscall:%s > 1ns", call);
	snprintf(condition, sizeof(condition), "peer == %s && port == %u && family == %s", own,
		 port, family == AF_INET ? "inet" : "inet6");
	rules[0] = rule_when(1, when, condition);
	snprintf(condition, sizeof(condition), "peer == %s && port != %u", own, port);
	rules[1] = rule_when(2, when, condition);
	snprintf(condition, sizeof(condition), "peer == %s", other);
	rules[2] = rule_when(3, when, condition);
}

/* @calls: number of these calls that @fn makes. */
static void look_at_call(const char *call, void (*fn)(struct findings *f, long how), long how,
			 struct findings_of_peer *p, int calls)
{
	struct rule_conf rules[3];
	struct detectors *d;
	uint32_t slots[3];
	struct sink got;

	make_rules(rules, call, p->family, p->port);
	d = detectors_with(rules, 3, slots);
	assert_int_equal(await(spawn(fn, &p->f, how)), 0);
	got = collect(d, 20000);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.last.rule_id, 1);
	assert_int_equal(got.last.subject.pid, p->f.pid);
	check_peer_args(&got.last, p->family, p->port);
	assert_int_equal(matched(d, slots[0]), calls);
	assert_int_equal(matched(d, slots[1]), 0);
	assert_int_equal(matched(d, slots[2]), 0);
	detectors__free(d);
	free_rules(rules, 3);
}

static void test_family(int family)
{
	struct findings_of_peer *p = shared_memory(sizeof(*p));
	struct sockaddr_in6 to, own;
	int listener, client;
	socklen_t len;

	p->family = family;
	listener = bound_socket(family, SOCK_STREAM, &p->port);
	look_at_call("connect", run_client, SOCK_STREAM, p, 1);
	look_at_call("sendto", run_client, SOCK_STREAM, p, 1); /* without an address */
	look_at_call("write", run_client, SOCK_STREAM, p, 1);
	close(listener);
	listener = bound_socket(family, SOCK_DGRAM, &p->port);
	look_at_call("sendto", run_client, SOCK_DGRAM, p, 1);
	close(listener);
	/* accept(): the peer is this process */
	p->fd = bound_socket(family, SOCK_STREAM, &p->port);
	client = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	len = address_of(p, &to);
	assert_int_equal(connect(client, (struct sockaddr *)&to, len), 0);
	len = sizeof(own);
	assert_int_equal(getsockname(client, (struct sockaddr *)&own, &len), 0);
	p->port = ntohs(own.sin6_port); /* at the same offset in both families */
	look_at_call("accept", accept_peer, 0, p, 1);
	close(client);
	close(p->fd);
	munmap(p, sizeof(*p));
}

static void test_ipv4(void **state)
{
	SKIP_UNLESS_POSSIBLE();
	test_family(AF_INET);
}

static void test_ipv6(void **state)
{
	SKIP_UNLESS_POSSIBLE();
	SKIP_IF(access("/proc/net/if_inet6", F_OK), "no IPv6 here");
	test_family(AF_INET6);
}

/* A Unix socket has no such address: no condition on it holds, and the event lacks the fields. */
static void test_unix(void **state)
{
	struct rule_conf rules[] = {
		rule_when(1, "syscall:sendto,write > 1ns", NULL),
		rule_when(2, "syscall:sendto,write > 1ns", "family == inet || family == inet6"),
		rule_when(3, "syscall:sendto,write > 1ns", "peer == 0.0.0.0/0 || port != 0"),
	};
	struct findings *f = shared_memory(sizeof(*f));
	struct detectors *d;
	uint32_t slots[3];
	struct sink got;

	SKIP_UNLESS_POSSIBLE();
	d = detectors_with(rules, 3, slots);
	assert_int_equal(await(spawn(run_unix, f, 0)), 0);
	got = collect(d, 20000);
	assert_true(got.n >= 1);
	assert_int_equal(matched(d, slots[0]), 2);
	assert_int_equal(matched(d, slots[1]), 0);
	assert_int_equal(matched(d, slots[2]), 0);
	assert_int_equal(arg_value(&got.last, FRBPF_SYSCALL_FAMILY), 0);
	detectors__free(d);
	free_rules(rules, 3);
	munmap(f, sizeof(*f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ipv4),
		cmocka_unit_test(test_ipv6),
		cmocka_unit_test(test_unix),
	};

	test_pid();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
