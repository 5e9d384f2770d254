// SPDX-License-Identifier: GPL-2.0-only
/*
 * hardirq and softirq on the running kernel: packets on the loopback device, interrupts of a disk.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "detect_fixture.h"
#include "loop_device.h"

#define NET_NAME "frbpf-net"
#define PACKETS	 50
#define NET_RX	 3

/* Sending a packet raises the softirq that receives it. That mostly runs at once, in the sender. */
static int send_packets(void *arg_)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(to);
	uint64_t *spent = arg_, begin;
	int in = socket(AF_INET, SOCK_DGRAM, 0), out = socket(AF_INET, SOCK_DGRAM, 0);
	char c;

	prctl(PR_SET_NAME, NET_NAME);
	if (in < 0 || out < 0 || bind(in, (struct sockaddr *)&to, len) ||
	    getsockname(in, (struct sockaddr *)&to, &len))
		return 1;
	begin = now_ns();
	for (int i = 0; i < PACKETS; i++) {
		if (sendto(out, "x", 1, 0, (struct sockaddr *)&to, len) != 1 ||
		    recv(in, &c, 1, 0) != 1)
			return 1;
	}
	*spent = now_ns() - begin;
	return 0;
}

static void test_softirq(void **state)
{
	struct rule_conf rules[] = {
		rule_of(1, "softirq:net_rx > 1ns", "current.comm == " NET_NAME " && vec == net_rx"),
		rule_of(2, "softirq:* > 2ns", "vec == net_rx && current.comm == " NET_NAME),
		rule_of(3, "softirq:tasklet,hi > 3ns", "vec == net_rx"),
		rule_of(4, "softirq:net_rx > 4ns", "comm == " NET_NAME),
		rule_of(5, "softirq:net_rx > 1h", NULL),
	};
	uint64_t *spent;
	struct frbpf_rule_state st;
	struct detectors *d;
	uint32_t slots[5];
	struct sink got;
	pid_t pid;

	SKIP_UNLESS_POSSIBLE();
	spent = shared_memory(sizeof(*spent));
	rules[1].quiet = true;
	d = detectors_with(rules, 5, slots);
	assert_int_equal(in_child(send_packets, spent, &pid), 0);
	got = collect(d, 2000);
	st = state_of(d, slots[0]);
	assert_in_range(st.matched, 1, PACKETS * 2);
	assert_int_equal(got.n, st.fired);
	assert_int_equal(got.last.source, FRBPF_SOURCE_SOFTIRQ);
	assert_int_equal(got.last.key, NET_RX);
	assert_int_equal(arg_value(&got.last, FRBPF_SOFTIRQ_VEC), NET_RX);
	assert_in_range(got.last.value, 1, *spent);
	assert_in_range(st.max_value, 1, *spent);
	assert_string_equal(got.last.subject.comm, "");
	assert_int_equal(got.last.subject.pid, 0);
	assert_int_equal(got.last.current.pid, pid);
	assert_string_equal(got.last.current.comm, NET_NAME);
	assert_int_equal(state_of(d, slots[1]).matched, st.matched);
	for (int i = 2; i < 5; i++)
		assert_int_equal(state_of(d, slots[i]).matched, 0);
	detectors__free(d);
	for (int i = 0; i < 5; i++)
		rule_free(&rules[i]);
	munmap(spent, sizeof(*spent));
}

/* Bypass the page cache, so that the disk raises an interrupt. */
static int write_to_disk(void *arg_)
{
	char name[] = "/var/tmp/frbpf-irq-XXXXXX";
	int fd = mkostemp(name, O_DIRECT | O_CLOEXEC);
	void *buf;

	if (fd < 0 || posix_memalign(&buf, 4096, 4096))
		return 1;
	unlink(name);
	memset(buf, 0, 4096);
	for (int i = 0; i < 20; i++) {
		if (pwrite(fd, buf, 4096, i * 4096) != 4096 || fsync(fd))
			return 1;
	}
	return 0;
}

/* Does /proc/interrupts list @irq with this name? The name may be cut. */
static bool is_interrupt(uint64_t irq, const char *name)
{
	FILE *f = fopen("/proc/interrupts", "r");
	char line[4096], number[32];
	bool found = false;

	snprintf(number, sizeof(number), "%llu:", (unsigned long long)irq);
	while (f && !found && fgets(line, sizeof(line), f)) {
		char *at = line + strspn(line, " ");

		found = !strncmp(at, number, strlen(number)) && strstr(at, name);
	}
	if (f)
		fclose(f);
	return found;
}

static void test_hardirq(void **state)
{
	struct rule_conf rules[] = {
		rule_of(1, "hardirq > 1ns", "name != \"IPI\""), /* IPIs of arm64 are in no table */
		rule_of(2, "hardirq > 2ns", "irq >= 0 && comm == \"\""),
		rule_of(3, "hardirq > 1h", NULL),
	};
	uint64_t begin = now_ns();
	char name[FRBPF_COMM_LEN];
	struct detectors *d;
	uint32_t slots[3];
	struct sink got;
	pid_t pid;

	SKIP_UNLESS_POSSIBLE();
	rules[0].cooldown.time = 3600000 * MS;
	rules[1].quiet = true;
	d = detectors_with(rules, 3, slots);
	in_child(write_to_disk, NULL, &pid);
	got = collect(d, 2000);
	if (!got.n) {
		detectors__free(d);
		SKIP_IF(true, "devices do not interrupt here");
	}
	assert_int_equal(got.n, 1);
	assert_int_equal(got.last.source, FRBPF_SOURCE_HARDIRQ);
	memcpy(name, got.last.args[FRBPF_HARDIRQ_NAME - FRBPF_FIELD_ARG], sizeof(name));
	assert_int_equal(name[FRBPF_COMM_LEN - 1], 0);
	if (!is_interrupt(arg_value(&got.last, FRBPF_HARDIRQ_IRQ), name))
		fail_msg("/proc/interrupts has no %llu with %s",
			 (unsigned long long)arg_value(&got.last, FRBPF_HARDIRQ_IRQ), name);
	assert_in_range(got.last.value, 1, now_ns() - begin);
	assert_string_equal(got.last.subject.comm, "");
	assert_true(state_of(d, slots[1]).matched >= 1);
	assert_int_equal(state_of(d, slots[2]).matched, 0);
	detectors__free(d);
	for (int i = 0; i < 3; i++)
		rule_free(&rules[i]);
}

/* While a dump is written, softirqs caused by other programs are not suppressed. */
static void test_while_a_dump_is_written(void **state)
{
	struct rule_conf r = rule_of(1, "softirq:net_rx > 1ns", "current.comm == " NET_NAME);
	uint64_t *spent;
	struct frbpf_rule_state st;
	struct detectors *d;
	uint32_t slot;
	pid_t pid;

	SKIP_UNLESS_POSSIBLE();
	spent = shared_memory(sizeof(*spent));
	d = detectors_with(&r, 1, &slot);
	detectors__suppress(d, FRBPF_SUPPRESS_SELF, now_ns() + 3600000 * MS);
	assert_int_equal(in_child(send_packets, spent, &pid), 0);
	assert_true(collect(d, 2000).n >= 1);
	st = state_of(d, slot);
	assert_true(st.matched >= 1);
	assert_int_equal(st.suppressed[FRBPF_CAUSE_SELF], 0);
	detectors__free(d);
	rule_free(&r);
	munmap(spent, sizeof(*spent));
}

static int write_and_sync(void *path)
{
	static char data[1 << 16];
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 || pwrite(fd, data, sizeof(data), 0) != sizeof(data) || fsync(fd);
}

/* While a dump is written, softirqs with completed requests of our disk are suppressed. */
static void test_requests_while_a_dump_is_written(void **state)
{
	struct frbpf_rule_state others, ours;
	char name[FRBPF_COMM_LEN], condition[64];
	struct loop_device loop;
	struct detectors *d;
	struct rule_conf r;
	uint32_t slot;
	pid_t pid;

	SKIP_UNLESS_POSSIBLE();
	SKIP_IF(loop_device_open(&loop, 1 << 20), "no loop devices here");
	prctl(PR_GET_NAME, name);
	snprintf(condition, sizeof(condition), "current.comm != \"%s\"", name);
	r = rule_of(1, "softirq:block > 1ns", condition);
	r.quiet = true;
	d = detectors_with(&r, 1, &slot);
	detectors__suppress(d, FRBPF_SUPPRESS_SELF, now_ns() + 3600000 * MS);
	detectors__suppress(d, FRBPF_SUPPRESS_DISK, FRBPF_DEV(1, 1)); /* no such disk */
	assert_int_equal(in_child(write_and_sync, loop.path, &pid), 0);
	others = state_of(d, slot);
	detectors__suppress(d, FRBPF_SUPPRESS_DISK, FRBPF_DEV(7, loop.number));
	assert_int_equal(in_child(write_and_sync, loop.path, &pid), 0);
	ours = state_of(d, slot);
	detectors__free(d);
	rule_free(&r);
	close(loop.fd);
	SKIP_IF(!others.matched, "requests do not end in a softirq here");
	assert_int_equal(others.suppressed[FRBPF_CAUSE_SELF], 0);
	assert_true(ours.suppressed[FRBPF_CAUSE_SELF] >= 1);
}

static void test_instructions(void **state)
{
	struct rule_conf rules[] = { rule_of(1, "hardirq > 1h", NULL),
				     rule_of(2, "softirq:* > 1h", NULL) };
	struct detectors *d;
	uint32_t slots[2];

	SKIP_UNLESS_POSSIBLE();
	d = detectors_with(rules, 2, slots);
	assert_true(check_instructions("hi_") >= 2);
	assert_true(check_instructions("si_") >= 3);
	detectors__free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_softirq),
		cmocka_unit_test(test_hardirq),
		cmocka_unit_test(test_while_a_dump_is_written),
		cmocka_unit_test(test_requests_while_a_dump_is_written),
		cmocka_unit_test(test_instructions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
