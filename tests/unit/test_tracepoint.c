// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules on any tracepoint, with real hits. Needs BTF and root. Children make the events, as this
 * process is never a subject.
 * with: others
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/bpf.h>

#include "common/cleanup.h"
#include "detect/tracepoint/tracepoint_info.h"
#include "detect/inject/listener.h"
#include "loop_device.h"
#include "tracepoint_fixture.h"

/* ---- hits ---- */

static void fall(long arg)
{
	volatile uintptr_t nowhere = 8;

	signal(SIGSEGV, SIG_DFL);
	*(volatile int *)(nowhere + arg) = 1;
}

/* The task's own fault: subject and current task are the same. */
static void test_crash(void **state)
{
	struct frbpf_trigger t = { 0 };
	struct detectors *d;
	struct ruleset *rs;
	uint32_t slots[2];
	pid_t pid;

	NEED_ROOT();
	rs = parse_tracepoint_rules("[rule-crash]\nwhen = signal:signal_generate\n"
				    "if = sig in (SIGSEGV, SIGABRT, SIGBUS) && comm == NAME\n"
				    "[rule-none]\nwhen = signal:signal_generate\n"
				    "if = sig in (SIGSEGV) && code == 0 && comm == NAME\n");
	d = open_detectors();
	update(d, rs->rules, rs->n_rules, slots);
	pid = spawn_subject(fall, 0);
	assert_int_equal(await(pid), -SIGSEGV);
	assert_int_equal(consume(d, &t), 1);
	assert_int_equal(t.source, FRBPF_SOURCE_TRACEPOINT);
	assert_int_equal(t.subject.pid, pid);
	assert_int_equal(t.current.pid, pid);
	assert_int_equal(arg_of(rs, 0, &t, "sig"), SIGSEGV);
	assert_int_equal(arg_of(rs, 0, &t, "code"), SEGV_MAPERR);
	assert_int_equal(matched(d, slots[1]), 0);
	detectors__free(d);
	ruleset__free(rs);
}

static void survive(int sig)
{
	_exit(7);
}

static void fall_on_purpose(long arg)
{
	volatile uintptr_t nowhere = 8;

	signal(SIGSEGV, survive);
	*(volatile int *)(nowhere + arg) = 1;
}

/* A signal ends its target, another has a handler. The rules compare a pointer to a function. */
static void test_handler(void **state)
{
	struct frbpf_trigger t = { 0 };
	struct detectors *d;
	struct ruleset *rs;
	uint32_t slots[2];
	pid_t pid;

	NEED_ROOT();
	rs = parse_tracepoint_rules("[rule-crash]\nwhen = signal:signal_deliver\n"
				    "if = sig == SIGSEGV && sa_handler == SIG_DFL && comm == NAME\n"
				    "[rule-handled]\nwhen = signal:signal_deliver\n"
				    "if = sig == SIGSEGV && ka.sa.sa_handler > 1 && comm == NAME\n"
				    "dump = none\n");
	d = open_detectors();
	update(d, rs->rules, rs->n_rules, slots);
	assert_int_equal(await(spawn_subject(fall_on_purpose, 0)), 7);
	assert_int_equal(matched(d, slots[0]), 0);
	assert_int_equal(matched(d, slots[1]), 1);
	pid = spawn_subject(fall, 0);
	assert_int_equal(await(pid), -SIGSEGV);
	assert_int_equal(matched(d, slots[0]), 1);
	assert_int_equal(matched(d, slots[1]), 1);
	assert_true(consume(d, &t) > 0);
	assert_int_equal(t.subject.pid, pid);
	assert_int_equal(arg_of(rs, 0, &t, "sa_handler"), 0);
	detectors__free(d);
	ruleset__free(rs);
}

static void wait_for_signals(long n)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	while (n--)
		sigwait(&set, &sig);
}

static void send_signals(long pid)
{
	for (int i = 0; i < 5; i++)
		syscall(SYS_tgkill, pid, pid, SIGUSR2);
}

/* The subject is the target, whoever sends the signal. Numbers are signed as in C. */
static void test_signal_target(void **state)
{
	struct frbpf_trigger t = { 0 };
	pid_t target, sender;
	struct detectors *d;
	struct ruleset *rs;
	uint32_t slots[2];
	sigset_t set;

	NEED_ROOT();
	rs = parse_tracepoint_rules(
		"[rule-usr2]\nwhen = signal:signal_generate\n"
		"if = sig == SIGUSR2 && code < 0 && comm == NAME\ncooldown = 0\n"
		"[rule-all]\nwhen = signal:signal_generate\n"
		"if = sig == SIGUSR2 && comm == NAME && task.mm.owner.pid > 1\n"
		"dump = none\n");
	d = open_detectors();
	update(d, rs->rules, rs->n_rules, slots);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	target = spawn_subject(wait_for_signals, 1);
	sender = spawn_subject(send_signals, target);
	assert_int_equal(await(sender), 0);
	assert_int_equal(await(target), 0);
	assert_int_equal(matched(d, slots[0]), 5);
	assert_int_equal(consume(d, &t), 5);
	assert_int_equal(t.subject.pid, target);
	assert_int_equal(t.current.pid, sender);
	assert_int_equal(arg_of(rs, 0, &t, "code"), SI_TKILL);
	detectors__free(d);
	ruleset__free(rs);
}

static void fail_calls(long n)
{
	while (n--)
		close(-1);
}

static void be_reset(long status)
{
	struct sched_param p = { 0 };

	if (sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &p))
		_exit(99);
	_exit(status);
}

static void write_to_disk(const char *path, int flags)
{
	void *block = aligned_alloc(4096, 4096);
	int fd = open(path, O_WRONLY | O_CLOEXEC | flags);

	assert_true(block && fd >= 0);
	memset(block, 0, 4096);
	assert_int_equal(pwrite(fd, block, 4096, 0), 4096);
	assert_int_equal(fsync(fd), 0);
	close(fd);
	free(block);
}

/*
 * Hits of kernel threads while a dump is written: they are suppressed only if their arguments show
 * our disk, and no memory of a program.
 */
static void test_kernel_thread_while_a_dump_is_written(void **state)
{
	const uint64_t later = now_ns() + 3600000000000ULL;
	struct loop_device lower, upper;
	struct frbpf_rule_state st;
	struct detectors *d;
	struct ruleset *rs;
	char rules[128];
	uint32_t slot;

	NEED_ROOT();
	SKIP_IF(loop_device_open(&lower, 1 << 20), "no loop device here");
	SKIP_IF(loop_device_over(&upper, lower.fd, LO_FLAGS_DIRECT_IO), "no disk on a disk here");
	snprintf(rules, sizeof(rules),
		 "[rule-disk]\nwhen = block:block_rq_issue\nif = dev == %llu\ncooldown = 0\n",
		 (unsigned long long)FRBPF_DEV(7, lower.number));
	rs = parse_tracepoint_rules(rules);
	d = open_detectors();
	update(d, rs->rules, rs->n_rules, &slot);
	detectors__suppress(d, FRBPF_SUPPRESS_SELF, later);
	detectors__suppress(d, FRBPF_SUPPRESS_DISK, FRBPF_DEV(7, lower.number));
	write_to_disk(upper.path, 0);
	assert_int_equal(detectors__rule_state(d, slot, &st), 0);
	assert_true(st.matched >= 1);
	assert_int_equal(st.suppressed[FRBPF_CAUSE_SELF], st.matched);
	write_to_disk(upper.path, O_DIRECT);
	assert_int_equal(detectors__rule_state(d, slot, &st), 0);
	assert_int_equal(st.fired, 1);
	detectors__suppress(d, FRBPF_SUPPRESS_DISK, FRBPF_DEV(7, upper.number));
	write_to_disk(upper.path, 0);
	assert_int_equal(detectors__rule_state(d, slot, &st), 0);
	assert_true(st.fired >= 2);
	detectors__free(d);
	ruleset__free(rs);
	close(upper.fd);
	close(lower.fd);
	/* memory that the kernel freed meanwhile may belong to any program */
	assert_true(tracepoint_info__disturbed("block:block_rq_issue"));
	assert_false(tracepoint_info__disturbed("vmscan:mm_vmscan_kswapd_wake"));
}

/* Signed arguments, strings reached by pointers, bit fields. */
static void test_kinds_of_values(void **state)
{
	struct detectors *d;
	struct ruleset *rs;
	uint32_t slots[5];

	NEED_ROOT();
	rs = parse_tracepoint_rules(
		"[rule-ret]\nwhen = raw_syscalls:sys_exit\n"
		"if = ret == -EBADF && comm == NAME\ndump = none\n"
		"[rule-exec]\nwhen = sched:sched_process_exec\n"
		"if = bprm.filename ~ \"/proc/s*/exe\" && current.comm == \"exe\"\n"
		"[rule-none]\nwhen = sched:sched_process_exec\n"
		"if = bprm.filename == \"/proc/self/ex\" && current.comm == \"exe\"\n"
		"[rule-bits]\nwhen = sched:sched_process_exit\n"
		"if = p.sched_reset_on_fork == 1 && comm == NAME && p.exit_code == 0x700\n"
		"[rule-no-bits]\nwhen = sched:sched_process_exit\n"
		"if = p.sched_reset_on_fork == 0 && comm == NAME && p.exit_code == 0x700\n");
	d = open_detectors();
	update(d, rs->rules, rs->n_rules, slots);
	assert_int_equal(await(spawn_subject(fail_calls, 3)), 0);
	assert_int_equal(await(spawn_subject(exec_self, 0)), 42);
	assert_int_equal(await(spawn_subject(be_reset, 7)), 7);
	assert_int_equal(matched(d, slots[0]), 3);
	assert_in_range(matched(d, slots[1]), 1, 100); /* others may run this test, too */
	assert_int_equal(matched(d, slots[2]), 0);
	assert_int_equal(matched(d, slots[3]), 1);
	assert_int_equal(matched(d, slots[4]), 0);
	detectors__free(d);
	ruleset__free(rs);
}

/* Use a port of its own, with a large number. */
static void listen_and_close(long n)
{
	struct sockaddr_in any = { .sin_family = AF_INET };

	while (n--) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof(any)) || listen(fd, 1))
			_exit(1);
		close(fd);
	}
}

/*
 * One byte and two bytes, reached by a pointer: the state (TCP_CLOSE), which has not changed yet,
 * and the port.
 */
static void test_small_numbers(void **state)
{
	struct detectors *d;
	struct ruleset *rs;
	uint32_t slots[3];

	NEED_ROOT();
	rs = parse_tracepoint_rules(
		"[rule-state]\nwhen = sock:inet_sock_set_state\n"
		"if = sk.__sk_common.skc_state == 7 && comm == NAME\ndump = none\n");
	d = open_detectors();
	update(d, rs->rules, rs->n_rules, slots);
	assert_int_equal(await(spawn_subject(listen_and_close, 5)), 0);
	assert_int_equal(matched(d, slots[0]), 5);
	ruleset__free(rs);

	rs = parse_tracepoint_rules(
		"[rule-port]\nwhen = sock:inet_sock_set_state\n"
		"if = sk.__sk_common.skc_num >= 1024 && comm == NAME\ndump = none\n");
	update(d, rs->rules, rs->n_rules, slots);
	assert_int_equal(await(spawn_subject(listen_and_close, 5)), 0);
	assert_in_range(matched(d, slots[0]), 5, 10);
	detectors__free(d);
	ruleset__free(rs);
}

/* Extracted values belong to the rules of their bank. */
static void test_reload(void **state)
{
	static const char *const rules[] = {
		"[rule-a]\nwhen = raw_syscalls:sys_exit\nif = ret == -EBADF && comm == NAME\n"
		"dump = none\n",
		"[rule-b]\nwhen = raw_syscalls:sys_exit\n"
		"if = regs.nothing != 5 && ret == -EBADF && comm == NAME\ndump = none\n",
		"[rule-c]\nwhen = raw_syscalls:sys_exit\nif = ret == 0 && comm == \"no such "
		"name\"\n"
		"[rule-a]\nwhen = raw_syscalls:sys_exit\nif = ret == -EBADF && comm == NAME\n"
		"dump = none\n",
	};
	struct detectors *d;
	uint32_t slots[2];

	NEED_ROOT();
	d = open_detectors();
	for (int i = 0; i < 6; i++) {
		char text[512];
		const char *rule = rules[i % 3];
		struct ruleset *rs;

		/* the first member of struct pt_regs differs by architecture */
		snprintf(text, sizeof(text), "%s", rule);
#if defined(__x86_64__)
		if (strstr(rule, "regs.nothing"))
			snprintf(text, sizeof(text), "%.*sregs.orig_ax%s",
				 (int)(strstr(rule, "regs.nothing") - rule), rule,
				 strstr(rule, "regs.nothing") + strlen("regs.nothing"));
#else
		if (strstr(rule, "regs.nothing"))
			continue;
#endif
		rs = parse_tracepoint_rules(text);
		update(d, rs->rules, rs->n_rules, slots);
		assert_int_equal(await(spawn_subject(fail_calls, 2)), 0);
		/* rule a is the same in the first and the third text: its counters continue */
		if (i % 3 == 1)
			assert_int_equal(matched(d, slots[0]), 2);
		else
			assert_true(matched(d, slots[rs->n_rules - 1]) >= 2);
		ruleset__free(rs);
	}
	detectors__free(d);
}

/* ---- the verifier's view of the programs ---- */

/* Check the programs with our names that were loaded after @after. Returns how many there are. */
static int check_programs(uint32_t after)
{
	struct bpf_prog_info info;
	int n = 0;

	for (; next_program(&after, "tp_hit", NULL, 0, &info); n++) {
		check_program(&info);
		assert_int_equal(info.type, BPF_PROG_TYPE_RAW_TRACEPOINT);
	}
	return n;
}

static uint32_t last_program(void)
{
	uint32_t id = 0;

	while (!bpf_prog_get_next_id(id, &id))
		;
	return id;
}

/* The largest program: the maximum of rules, comparisons and values. */
static void test_verified_instructions(void **state)
{
	struct ruleset *rs;
	struct rule_conf *rules;
	struct detectors *d;
	uint32_t slots[FRBPF_MAX_RULES], before;

	NEED_ROOT();
	rs = parse_tracepoint_rules(
		"[rule-a]\nwhen = sched:sched_switch\n"
		"if = prev.pid == 1 && prev.tgid == 2 && next.pid == 3 && next.tgid == 4 && "
		"next.comm == \"x\" && prev.comm ~ \"y*\" && preempt == 2 && "
		"next.mm.owner.pid == 5\n");
	rules = calloc(FRBPF_MAX_RULES, sizeof(*rules));
	assert_non_null(rules);
	for (int i = 0; i < FRBPF_MAX_RULES; i++) {
		rules[i] = rs->rules[0];
		rules[i].id = i + 1;
	}
	before = last_program();
	d = open_detectors();
	update(d, rules, FRBPF_MAX_RULES, slots);
	assert_true(check_programs(before) >= 1);
	detectors__free(d);
	free(rules);
	ruleset__free(rs);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crash),
		cmocka_unit_test(test_handler),
		cmocka_unit_test(test_signal_target),
		cmocka_unit_test(test_kernel_thread_while_a_dump_is_written),
		cmocka_unit_test(test_kinds_of_values),
		cmocka_unit_test(test_small_numbers),
		cmocka_unit_test(test_reload),
		cmocka_unit_test(test_verified_instructions),
	};

	if (argc > 1 && !strcmp(argv[1], "--exit"))
		return 42;
	return cmocka_run_group_tests_name("tracepoint", tests, NULL, NULL);
}
