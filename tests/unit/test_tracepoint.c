// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules on any tracepoint: paths through the kernel's types (needs BTF), and real hits (needs root).
 * What is to be seen happens in children: our own process is never a subject.
 */
#include <errno.h>
#include <limits.h>
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
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/bpf.h>

#include "common/cleanup.h"
#include "detect/btf_path.h"
#include "detect/detectors.h"
#include "detect/tracepoint_bind.h"

#define NEED_BTF()                                                                                 \
	do {                                                                                       \
		if (access("/sys/kernel/btf/vmlinux", R_OK)) {                                     \
			print_message("skipped: needs kernel BTF\n");                              \
			skip();                                                                    \
		}                                                                                  \
	} while (0)

#define NEED_ROOT()                                                                                \
	do {                                                                                       \
		NEED_BTF();                                                                        \
		if (geteuid()) {                                                                   \
			print_message("skipped: needs root\n");                                    \
			skip();                                                                    \
		}                                                                                  \
	} while (0)

/* ---- paths ---- */

static void test_values(void **state)
{
	static const struct {
		const char *tracepoint, *path;
		enum expr_type type;
		enum frbpf_extract_kind kind;
		int arg, steps, bits; /* 0: any */
		bool is_signed;
	} cases[] = {
		{ "sched_switch", "preempt", EXPR_NUMBER, FRBPF_EXTRACT_NUMBER, 0, 0, 8, false },
		{ "sched_switch", "prev.pid", EXPR_NUMBER, FRBPF_EXTRACT_NUMBER, 1, 1, 32, true },
		{ "sched_switch", "next.comm", EXPR_STRING, FRBPF_EXTRACT_STRING, 2, 1 },
		{ "sched_switch", "next.mm.owner.pid", EXPR_NUMBER, FRBPF_EXTRACT_NUMBER, 2, 3, 32,
		  true },
		{ "sched_switch", "next.group_leader.real_parent.group_leader.pid", EXPR_NUMBER,
		  FRBPF_EXTRACT_NUMBER, 2, 4, 32, true },
		{ "sched_switch", "next.sched_reset_on_fork", EXPR_NUMBER, FRBPF_EXTRACT_NUMBER, 2,
		  1, 1, false },
		{ "sched_switch", "next.se.sum_exec_runtime", EXPR_NUMBER, FRBPF_EXTRACT_NUMBER, 2,
		  1, 64, false },
		{ "sched_switch", "next.comm[3]", EXPR_NUMBER, FRBPF_EXTRACT_NUMBER, 2, 1, 8,
		  true },
		/* of a class of events: its functions have other names */
		{ "sched_wakeup", "p.pid", EXPR_NUMBER, FRBPF_EXTRACT_NUMBER, 0, 1, 32, true },
		{ "sched_process_exec", "bprm.filename", EXPR_STRING, FRBPF_EXTRACT_STRING, 2, 2 },
		{ "signal_generate", "sig", EXPR_NUMBER, FRBPF_EXTRACT_NUMBER, 0, 0, 32, true },
		{ "signal_generate", "info.si_code", EXPR_NUMBER, FRBPF_EXTRACT_NUMBER, 1, 1, 32,
		  true },
		{ "tcp_retransmit_skb", "sk.__sk_common.skc_daddr", EXPR_IPV4, FRBPF_EXTRACT_IPV4,
		  0, 1, 32, false },
		{ "tcp_retransmit_skb", "sk.__sk_common.skc_v6_daddr", EXPR_IPV6,
		  FRBPF_EXTRACT_IPV6, 0, 1 },
		{ "tcp_retransmit_skb", "sk.__sk_common.skc_dport", EXPR_NUMBER, FRBPF_EXTRACT_BE,
		  0, 1, 16, false },
	};

	NEED_BTF();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct btf_trace *t;
		struct btf_value v;
		struct err err = { "" };
		struct span bad;

		assert_int_equal(btf_trace__find(cases[i].tracepoint, &t), 0);
		if (btf_trace__value(t, cases[i].path, &v, &bad, &err))
			fail_msg("%s %s: %s", cases[i].tracepoint, cases[i].path, err.msg);
		assert_int_equal(v.type, cases[i].type);
		assert_int_equal(v.where.kind, cases[i].kind);
		assert_int_equal(v.where.arg, cases[i].arg);
		assert_int_equal(v.where.n_steps, cases[i].steps);
		if (cases[i].bits) {
			assert_int_equal(64 - v.where.shift_right, cases[i].bits);
			assert_in_range(v.where.shift_left, 0, 64 - cases[i].bits);
			assert_true(strstr(cases[i].path, "comm[") ||
				    v.where.is_signed == cases[i].is_signed);
			if (cases[i].bits < 63)
				assert_true(v.max ==
					    (1LL << (cases[i].bits - v.where.is_signed)) - 1);
		}
		btf_value__free(&v);
		btf_trace__free(t);
	}
}

static void test_bad_paths(void **state)
{
	static const struct {
		const char *path, *bad, *message; /* part of it */
	} cases[] = {
		{ "prv.pid", "prv", "did you mean 'prev'?" },
		{ "pid", "pid", "there are preempt prev next" },
		{ "prev.pidd", "pidd", "did you mean 'pid'?" },
		{ "prev.mm.ownr.pid", "ownr",
		  "struct mm_struct has no member 'ownr' (did you mean" },
		{ "prev", "prev", "a pointer (struct task_struct *): compare a member" },
		{ "prev.mm", "mm", "such as prev.mm.NAME" },
		{ "prev.se", "se", "a whole struct sched_entity" },
		{ "prev.pid.x", "x", "has no members" },
		{ "preempt.x", "x", "has no members" },
		{ "prev..pid", "", "a name is missing" },
		{ "prev.", "", "a name is missing" },
		{ ".prev", "", "a name is missing" },
		{ "prev.pid[0]", "pid", "this is no array" },
		{ "prev.comm[16]", "comm", "the array has 16 elements" },
		{ "prev.comm[x]", "comm", "a number in brackets" },
		{ "prev.comm[1", "comm", "a number in brackets" },
		{ "prev.comm[1]x", "comm[1]", "'.' is expected" },
		{ "prev.group_leader.real_parent.group_leader.real_parent.pid", "pid",
		  "more than 4 pointers" },
	};
	struct btf_trace *t;

	NEED_BTF();
	assert_int_equal(btf_trace__find("no_such_tracepoint", &t), -ENOENT);
	assert_int_equal(btf_trace__find("sched_switch", &t), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *path = cases[i].path;
		struct err err = { "" };
		struct btf_value v;
		struct span bad;

		if (!btf_trace__value(t, path, &v, &bad, &err))
			fail_msg("'%s' is accepted", path);
		if (!strstr(err.msg, cases[i].message))
			fail_msg("'%s': %s", path, err.msg);
		if (strlen(cases[i].bad) != bad.len ||
		    memcmp(path + bad.off, cases[i].bad, bad.len))
			fail_msg("'%s': the caret is at '%.*s'", path, (int)bad.len,
				 path + bad.off);
	}
	btf_trace__free(t);
}

/* ---- rules ---- */

/* A name that only children of this test have. */
static const char *subject_name(void)
{
	static char name[FRBPF_COMM_LEN];

	if (!*name)
		snprintf(name, sizeof(name), "frbpf-%d", getpid());
	return name;
}

/* Rules of a file; "%s" is the subject's name. Bound to this kernel. */
static struct ruleset *load_rules(const char *format)
{
	struct ruleset *rs = NULL;
	struct source_text *src;
	struct diags d = { 0 };
	struct buf said = { 0 };
	char text[4096];
	int err;

	snprintf(text, sizeof(text), "[session-s]\nrun = -e cs\n%s", format);
	for (char *p; (p = strstr(text, "NAME"));) {
		memmove(p + strlen(subject_name()), p + 4, strlen(p + 4) + 1);
		memcpy(p, subject_name(), strlen(subject_name()));
	}
	assert_int_equal(source_text__from_string("rules", text, &src), 0);
	err = ruleset__parse(src, &d, &rs);
	for (size_t i = 0; !err && i < rs->n_rules; i++)
		err = tracepoint_bind__rule(rs, &rs->rules[i], &d);
	if (err) {
		diags__format(&d, &said);
		fail_msg("%s", said.data);
	}
	diags__free(&d);
	return rs;
}

static struct detectors *open_detectors(void)
{
	struct detectors *d = NULL;
	struct err err = { "" };

	if (detectors__open(&err, &d))
		fail_msg("open: %s", err.msg);
	return d;
}

static void update(struct detectors *d, const struct ruleset *rs, uint32_t *slots)
{
	struct err err = { "" };

	if (detectors__update(d, rs->rules, rs->n_rules, slots, &err))
		fail_msg("update: %s", err.msg);
}

static uint64_t matched(const struct detectors *d, uint32_t slot)
{
	struct frbpf_rule_state st;

	assert_int_equal(detectors__rule_state(d, slot, &st), 0);
	return st.matched;
}

static void keep_last(const struct frbpf_trigger *t, void *arg)
{
	*(struct frbpf_trigger *)arg = *t;
}

/* How many triggers there were; the last one. */
static int consume(struct detectors *d, struct frbpf_trigger *ret)
{
	int n = detectors__consume(d, INT_MAX, keep_last, ret);

	assert_true(n >= 0);
	return n;
}

static pid_t spawn(void (*fn)(long arg), long arg)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_NAME, subject_name());
		fn(arg);
		_exit(0);
	}
	return pid;
}

static int await(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static int64_t arg_of(const struct ruleset *rs, size_t rule, const struct frbpf_trigger *t,
		      const char *name)
{
	const struct rule_args *args = &rs->rules[rule].args;

	for (uint32_t i = 0; i < args->n; i++) {
		if (!strcmp(args->v[i].name, name))
			return t->args[args->v[i].slot][0];
	}
	fail_msg("the rule has no '%s'", name);
	return 0;
}

/* ---- hits ---- */

static void fall(long arg)
{
	volatile uintptr_t nowhere = 8;

	signal(SIGSEGV, SIG_DFL);
	*(volatile int *)(nowhere + arg) = 1;
}

/* A fault of its own: subject and current task are the same. */
static void test_crash(void **state)
{
	struct frbpf_trigger t = { 0 };
	struct detectors *d;
	struct ruleset *rs;
	uint32_t slots[2];
	pid_t pid;

	NEED_ROOT();
	rs = load_rules("[rule-crash]\nwhen = signal:signal_generate\n"
			"if = sig in (SIGSEGV, SIGABRT, SIGBUS) && comm == NAME\n"
			"[rule-none]\nwhen = signal:signal_generate\n"
			"if = sig in (SIGSEGV) && code == 0 && comm == NAME\n");
	d = open_detectors();
	update(d, rs, slots);
	pid = spawn(fall, 0);
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

/* The target suffers, whoever sends; numbers are signed as in C. */
static void test_signal_target(void **state)
{
	struct frbpf_trigger t = { 0 };
	pid_t target, sender;
	struct detectors *d;
	struct ruleset *rs;
	uint32_t slots[2];
	sigset_t set;

	NEED_ROOT();
	rs = load_rules("[rule-usr2]\nwhen = signal:signal_generate\n"
			"if = sig == SIGUSR2 && code < 0 && comm == NAME\ncooldown = 0\n"
			"[rule-all]\nwhen = signal:signal_generate\n"
			"if = sig == SIGUSR2 && comm == NAME && task.mm.owner.pid > 1\n"
			"dump = none\n");
	d = open_detectors();
	update(d, rs, slots);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	target = spawn(wait_for_signals, 1);
	sender = spawn(send_signals, target);
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

static void exec_self(long arg)
{
	execl("/proc/self/exe", subject_name(), "--exit", NULL);
	_exit(99);
}

static void be_reset(long status)
{
	struct sched_param p = { 0 };

	if (sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &p))
		_exit(99);
	_exit(status);
}

/* Signed arguments, strings behind pointers, bit fields. */
static void test_kinds_of_values(void **state)
{
	struct detectors *d;
	struct ruleset *rs;
	uint32_t slots[5];

	NEED_ROOT();
	rs = load_rules(
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
	update(d, rs, slots);
	assert_int_equal(await(spawn(fail_calls, 3)), 0);
	assert_int_equal(await(spawn(exec_self, 0)), 42);
	assert_int_equal(await(spawn(be_reset, 7)), 7);
	assert_int_equal(matched(d, slots[0]), 3);
	assert_in_range(matched(d, slots[1]), 1, 100); /* others may run this very test */
	assert_int_equal(matched(d, slots[2]), 0);
	assert_int_equal(matched(d, slots[3]), 1);
	assert_int_equal(matched(d, slots[4]), 0);
	detectors__free(d);
	ruleset__free(rs);
}

/* What is extracted goes with its rules from one half to the other. */
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
		rs = load_rules(text);
		update(d, rs, slots);
		assert_int_equal(await(spawn(fail_calls, 2)), 0);
		/* rule a is the same in its first and its third text: its counters go on */
		if (i % 3 == 1)
			assert_int_equal(matched(d, slots[0]), 2);
		else
			assert_true(matched(d, slots[rs->n_rules - 1]) >= 2);
		ruleset__free(rs);
	}
	detectors__free(d);
}

/* ---- what the kernel thinks of the programs ---- */

/* Those whose names are ours and that were loaded behind @after. */
static int check_programs(uint32_t after)
{
	uint32_t id = after, len;
	int n = 0;

	while (!bpf_prog_get_next_id(id, &id)) {
		struct bpf_prog_info info = { 0 };
		int fd = bpf_prog_get_fd_by_id(id);

		len = sizeof(info);
		if (fd < 0)
			continue;
		if (!bpf_obj_get_info_by_fd(fd, &info, &len) && !strncmp(info.name, "tp_hit", 6)) {
			print_message("%-16s %u instructions verified\n", info.name,
				      info.verified_insns);
			assert_int_equal(info.type, BPF_PROG_TYPE_RAW_TRACEPOINT);
			if (info.verified_insns) /* 5.16 and later tell (aba64c7da983) */
				assert_in_range(info.verified_insns, 1, 50000);
			n++;
		}
		close(fd);
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

/* The largest: as many rules, comparisons and values as there can be. */
static void test_verified_instructions(void **state)
{
	struct ruleset *rs;
	struct rule_conf *rules;
	struct detectors *d;
	struct err err = { "" };
	uint32_t slots[FRBPF_MAX_RULES], before;

	NEED_ROOT();
	rs = load_rules(
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
	if (detectors__update(d, rules, FRBPF_MAX_RULES, slots, &err))
		fail_msg("%s", err.msg);
	assert_true(check_programs(before) >= 1);
	detectors__free(d);
	free(rules);
	ruleset__free(rs);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_bad_paths),
		cmocka_unit_test(test_crash),
		cmocka_unit_test(test_signal_target),
		cmocka_unit_test(test_kinds_of_values),
		cmocka_unit_test(test_reload),
		cmocka_unit_test(test_verified_instructions),
	};

	if (argc > 1 && !strcmp(argv[1], "--exit"))
		return 42;
	return cmocka_run_group_tests_name("tracepoint", tests, NULL, NULL);
}
