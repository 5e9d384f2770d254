// SPDX-License-Identifier: GPL-2.0-only
/* Fields of events by name, for manifests and markers. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "dump/incident/trigger_args.h"

#define NO_DISK FRBPF_DEV(4000, 7) /* a number that no driver has */

static void set_arg(struct incident_trigger *it, int field, uint64_t value)
{
	it->t.args[field - FRBPF_FIELD_ARG][0] = value;
}

static struct incident_trigger request(uint64_t op, uint64_t flags)
{
	struct incident_trigger it = { .t = { .source = FRBPF_SOURCE_BLKIO } };

	set_arg(&it, FRBPF_BLKIO_DEV, NO_DISK);
	set_arg(&it, FRBPF_BLKIO_SECTOR, 2048);
	set_arg(&it, FRBPF_BLKIO_BYTES, 65536);
	set_arg(&it, FRBPF_BLKIO_OP, op);
	set_arg(&it, FRBPF_BLKIO_FLAGS, flags);
	return it;
}

static void check_text(const struct incident_trigger *it, const char *want)
{
	char buf[256];

	assert_string_equal(trigger_args__format(it, buf, sizeof(buf)), want);
}

static void test_request(void **state)
{
	struct incident_trigger it = request(FRBPF_BLKIO_WRITE, FRBPF_BLKIO_FUA | FRBPF_BLKIO_SYNC);
	struct trigger_arg args[TRIGGER_ARGS_MAX];

	check_text(&it, "dev=4000:7 sector=2048 bytes=65536 op=write flags=sync|fua");
	assert_int_equal(trigger_args__get(&it, args), 5);
	assert_string_equal(args[0].name, "dev");
	assert_true(args[0].is_text);
	assert_false(args[1].is_text);
	assert_int_equal(args[1].number, 2048);
	assert_true(args[3].is_text);
	it.t.source = FRBPF_SOURCE_BLKIO_DEVICE;
	check_text(&it, "dev=4000:7 sector=2048 bytes=65536 op=write flags=sync|fua");
}

static void test_names_that_are_missing(void **state)
{
	struct incident_trigger it = request(99, 1U << 30 | FRBPF_BLKIO_META);

	check_text(&it, "dev=4000:7 sector=2048 bytes=65536 op=99 flags=meta|0x40000000");
	it = request(FRBPF_BLKIO_READ, 0);
	check_text(&it, "dev=4000:7 sector=2048 bytes=65536 op=read");
}

static void test_interrupts(void **state)
{
	struct incident_trigger it = { .t = { .source = FRBPF_SOURCE_HARDIRQ } };

	set_arg(&it, FRBPF_HARDIRQ_IRQ, 41);
	memcpy(it.t.args[FRBPF_HARDIRQ_NAME - FRBPF_FIELD_ARG], "0123456789abcdef", 16);
	check_text(&it, "irq=41 name=0123456789abcdef"); /* without a NUL */
	it = (struct incident_trigger){ .t = { .source = FRBPF_SOURCE_SOFTIRQ } };
	set_arg(&it, FRBPF_SOFTIRQ_VEC, 3);
	check_text(&it, "vec=net_rx");
}

static void test_static_probe(void **state)
{
	struct incident_trigger it = { .t = { .source = FRBPF_SOURCE_USDT, .n_args = 2 } };

	set_arg(&it, FRBPF_FIELD_ARG, 7);
	check_text(&it, "arg0=7 arg1=0");
	it.t.n_args = 0;
	check_text(&it, "");
}

static void test_sources_without(void **state)
{
	struct incident_trigger it = { .t = { .source = FRBPF_SOURCE_RUNQLAT } };

	check_text(&it, "");
	it.t.source = 99; /* of a newer version */
	check_text(&it, "");
	it.t.source = 0; /* by hand */
	check_text(&it, "");
}

static void test_named_by_the_rule(void **state)
{
	struct rule_conf rule = { .args = { .n = 4 } };
	struct incident_trigger it = { .rule = &rule, .t = { .source = FRBPF_SOURCE_APP } };

	rule.args.v[0] = (struct rule_arg){
		.name = (char *)"code", .slot = 2, .bound = true, .type = EXPR_NUMBER
	};
	rule.args.v[1] = (struct rule_arg){
		.name = (char *)"user", .slot = 0, .bound = true, .type = EXPR_STRING
	};
	rule.args.v[2] = (struct rule_arg){ .name = (char *)"unknown", .slot = 1 };
	rule.args.v[3] = (struct rule_arg){
		.name = (char *)"took", .slot = 3, .bound = true, .type = EXPR_DURATION
	};
	it.t.args[2][0] = -5;
	memcpy(it.t.args[0], "alice", 5);
	it.t.args[3][0] = 1500000;
	check_text(&it, "code=-5 user=alice took=1.5ms");
}

static void test_connect(void **state)
{
	struct incident_trigger it = { .t = { .source = FRBPF_SOURCE_CONNECT } };
	__u64 *peer = it.t.args[FRBPF_CONNECT_PEER - FRBPF_FIELD_ARG];

	peer[1] = 0xffff0a010203;
	set_arg(&it, FRBPF_CONNECT_PORT, 443);
	set_arg(&it, FRBPF_CONNECT_FAMILY, AF_INET);
	set_arg(&it, FRBPF_CONNECT_RESULT, FRBPF_CONNECT_FAILED);
	set_arg(&it, FRBPF_CONNECT_ERROR, ETIMEDOUT);
	check_text(&it, "peer=10.1.2.3 port=443 family=inet result=failed error=ETIMEDOUT");
	peer[0] = 0x20010db800000000;
	peer[1] = 1;
	set_arg(&it, FRBPF_CONNECT_FAMILY, AF_INET6);
	set_arg(&it, FRBPF_CONNECT_RESULT, FRBPF_CONNECT_ESTABLISHED);
	set_arg(&it, FRBPF_CONNECT_ERROR, 0);
	check_text(&it, "peer=2001:db8::1 port=443 family=inet6 result=established error=0");
}

static void test_cut_at_the_end_of_one(void **state)
{
	struct incident_trigger it = request(FRBPF_BLKIO_WRITE, FRBPF_BLKIO_SYNC);
	char buf[64];

	assert_string_equal(trigger_args__format(&it, buf, sizeof("dev=4000:7 sector=2048")),
			    "dev=4000:7 sector=2048");
	assert_string_equal(trigger_args__format(&it, buf, sizeof("dev=4000:7 sector=204")),
			    "dev=4000:7");
	assert_string_equal(trigger_args__format(&it, buf, 1), "");
}

static void check_call_text(const struct incident_trigger *it, const char *want)
{
	struct buf b = { 0 };

	assert_int_equal(call_text__add(&b, it), 0);
	assert_string_equal(b.len ? b.data : "", want);
	buf__free(&b);
}

static struct incident_trigger call_of(const char *name, int64_t ret)
{
	return (struct incident_trigger){ .t = { .source = FRBPF_SOURCE_SYSCALL,
						 .key = syscall__number(name, strlen(name)),
						 .ret = ret } };
}

static void test_calls(void **state)
{
	struct incident_trigger it = call_of("openat", -2), none = request(0, 0);

	check_call_text(&it, "openat(...) = -1 ENOENT");
	it.t.text_is = 1;
	strcpy(it.t.text, "/srv/x");
	check_call_text(&it, "openat(\"/srv/x\") = -1 ENOENT");
	check_text(&it, "path=/srv/x");
	it.t.ret = 3;
	check_call_text(&it, "openat(\"/srv/x\") = 3");
	it.t.flags = FRBPF_TRIGGER_PENDING;
	check_call_text(&it, "openat(\"/srv/x\")");
	it = call_of("write", -4000);
	check_call_text(&it, "write(...) = -1 errno 4000");
	it.t.key = FRBPF_KEY_MAX - 1;
	it.t.ret = -5000; /* an address */
	check_call_text(&it, "call 511(...) = -5000");
	check_call_text(&none, "");
}

static void test_cut_path(void **state)
{
	struct incident_trigger it = call_of("openat", -2);
	char want[2 * FRBPF_TEXT_LEN];

	it.t.text_is = 1;
	memset(it.t.text, 'x', FRBPF_TEXT_LEN - 1);
	snprintf(want, sizeof(want), "openat(\"%s\"...) = -1 ENOENT", it.t.text);
	check_call_text(&it, want);
}

static void test_calls_on_sockets(void **state)
{
	struct incident_trigger it = call_of("connect", -111);

	set_arg(&it, FRBPF_SYSCALL_FAMILY, AF_INET);
	set_arg(&it, FRBPF_SYSCALL_PORT, 80);
	it.t.args[FRBPF_SYSCALL_PEER - FRBPF_FIELD_ARG][1] = 0xffff0a000001;
	check_call_text(&it, "connect(10.0.0.1:80) = -1 ECONNREFUSED");
	it.t.args[FRBPF_SYSCALL_PEER - FRBPF_FIELD_ARG][1] = 1;
	set_arg(&it, FRBPF_SYSCALL_FAMILY, AF_INET6);
	check_call_text(&it, "connect([::1]:80) = -1 ECONNREFUSED");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request),
		cmocka_unit_test(test_names_that_are_missing),
		cmocka_unit_test(test_interrupts),
		cmocka_unit_test(test_static_probe),
		cmocka_unit_test(test_sources_without),
		cmocka_unit_test(test_named_by_the_rule),
		cmocka_unit_test(test_connect),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_cut_path),
		cmocka_unit_test(test_calls_on_sockets),
		cmocka_unit_test(test_cut_at_the_end_of_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
