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
#include "detect/tracepoint/btf_path.h"
#include "detect/tracepoint/event_filter.h"
#include "detect/tracepoint/fields_bind.h"
#include "detect/tracepoint/seen_hits.h"
#include "detect/tracepoint/tracepoint_bind.h"
#include "detect_fixture.h"

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
		{ "hrtimer_start", "mode", EXPR_NUMBER, FRBPF_EXTRACT_NUMBER, 1, 0, 32, false },
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
		long number;

		assert_int_equal(btf_trace__find(cases[i].tracepoint, &t), 0);
		if (btf_trace__value(t, cases[i].path, BTF_PATH_RULE, &v, &bad, &err))
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
		if (!strcmp(cases[i].path, "mode")) /* an enum */
			assert_int_equal(symbol__find(v.symbols, "HRTIMER_MODE_REL", 16, &number),
					 0);
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

		if (!btf_trace__value(t, path, BTF_PATH_RULE, &v, &bad, &err))
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

static int bind_tracepoint(struct ruleset *rs, struct rule_conf *r, struct diags *d)
{
	return tracepoint_bind__rule(rs, r, false, d);
}

static struct ruleset *load_rules(const char *rules)
{
	return parse_rules(rules, bind_tracepoint, NULL, 0);
}

/* How many triggers there were; the last one. */
static int consume(struct detectors *d, struct frbpf_trigger *ret)
{
	struct sink s = collect(d, 0);

	if (s.n)
		*ret = s.last;
	return s.n;
}

/* Has its name when this returns. */
static pid_t spawn_subject(void (*fn)(long arg), long arg)
{
	int ready[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_NAME, subject_name());
		close(ready[0]);
		if (write(ready[1], "", 1) != 1)
			_exit(98);
		close(ready[1]);
		fn(arg);
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return pid;
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

/* A signal that ends its target, and one that it has a handler for: a pointer to a function is compared. */
static void test_handler(void **state)
{
	struct frbpf_trigger t = { 0 };
	struct detectors *d;
	struct ruleset *rs;
	uint32_t slots[2];
	pid_t pid;

	NEED_ROOT();
	rs = load_rules("[rule-crash]\nwhen = signal:signal_deliver\n"
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
	update(d, rs->rules, rs->n_rules, slots);
	assert_int_equal(await(spawn_subject(fail_calls, 3)), 0);
	assert_int_equal(await(spawn_subject(exec_self, 0)), 42);
	assert_int_equal(await(spawn_subject(be_reset, 7)), 7);
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
		update(d, rs->rules, rs->n_rules, slots);
		assert_int_equal(await(spawn_subject(fail_calls, 2)), 0);
		/* rule a is the same in its first and its third text: its counters go on */
		if (i % 3 == 1)
			assert_int_equal(matched(d, slots[0]), 2);
		else
			assert_true(matched(d, slots[rs->n_rules - 1]) >= 2);
		ruleset__free(rs);
	}
	detectors__free(d);
}

/* ---- fields of the format ---- */

static const char format_text[] =
	"name: test\nID: 4711\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:int res;\toffset:12;\tsize:4;\tsigned:1;\n"
	"\tfield:char name[8];\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:__u8 saddr[4];\toffset:24;\tsize:4;\tsigned:0;\n"
	"\tfield:__u8 saddr_v6[16];\toffset:28;\tsize:16;\tsigned:0;\n"
	"\tfield:unsigned int state;\toffset:44;\tsize:4;\tsigned:0;\n"
	"\tfield:const void * skaddr;\toffset:48;\tsize:8;\tsigned:0;\n"
	"\tfield:u64 big;\toffset:56;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \"%s\", __print_symbolic(REC->state, { 1, \"ONE\" }, { 0x2, \"TWO\" }, "
	"{ X, \"NONE\" })\n";

static const char format_raw[80] = "\0\0\0\0\0\0\0\0"
				   "\x40\0\x0b\0"     /* 11 bytes at 64 */
				   "\xfb\xff\xff\xff" /* -5 */
				   "abcdefgh"
				   "\x0a\x4d\0\1" /* 10.77.0.1 */
				   "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1"
				   "\2\0\0\0"
				   "\0\0\0\0\0\0\0\0"
				   "\xff\xff\xff\xff\xff\xff\xff\xff"
				   "/bin/a-file";

static struct event_format *make_format(void)
{
	struct event_format *f;

	assert_int_equal(event_format__parse(format_text, strlen(format_text), &f), 0);
	return f;
}

static void test_format(void **state)
{
	static const struct {
		const char *name;
		enum event_field_kind kind;
		uint64_t value[2];
	} cases[] = {
		{ "res", EVENT_FIELD_NUMBER, { -5LL } },
		{ "saddr", EVENT_FIELD_IPV4, { 0x0a4d000100000000 } },
		{ "saddr_v6", EVENT_FIELD_IPV6, { 0x20010db800000000, 1 } },
		{ "state", EVENT_FIELD_NUMBER, { 2 } },
		{ "big", EVENT_FIELD_NUMBER, { INT64_MAX } },
		{ "skaddr", EVENT_FIELD_OTHER },
	};
	struct event_format *f = make_format();
	const struct event_field *field;
	__u64 v[2];
	size_t len;
	const char *s;

	assert_int_equal(f->id, 4711);
	assert_null(event_format__find(f, "common_pid", 10));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		field = event_format__find(f, cases[i].name, strlen(cases[i].name));
		assert_non_null(field);
		assert_int_equal(field->kind, cases[i].kind);
		event_field__value(field, format_raw, sizeof(format_raw), v);
		assert_int_equal(v[0], cases[i].value[0]);
		assert_int_equal(v[1], cases[i].value[1]);
		event_field__value(field, format_raw, field->offset, v); /* cut off */
		assert_int_equal(v[0], 0);
	}
	field = event_format__find(f, "state", 5);
	assert_string_equal(field->symbols[1].name, "TWO");
	assert_null(field->symbols[2].name);
	field = event_format__find(f, "filename", 8);
	s = event_field__string(field, format_raw, sizeof(format_raw), &len);
	assert_int_equal(len, 11);
	assert_memory_equal(s, "/bin/a-file", 11);
	event_field__string(field, format_raw, 70, &len); /* its end is not there */
	assert_int_equal(len, 0);
	field = event_format__find(f, "name", 4); /* without a NUL */
	event_field__string(field, format_raw, sizeof(format_raw), &len);
	assert_int_equal(len, 8);
	fields_bind__value(f, "filename~*/a-*", format_raw, sizeof(format_raw), v);
	assert_int_equal(v[0], 1);
	fields_bind__value(f, "filename==/bin/a-file", format_raw, sizeof(format_raw), v);
	assert_int_equal(v[0], 1);
	fields_bind__value(f, "filename==/bin/a-fil", format_raw, sizeof(format_raw), v);
	assert_int_equal(v[0], 0);
	event_format__free(f);
	assert_int_equal(event_format__parse("nothing", 7, &f), -EINVAL);
}

static void test_filter(void **state)
{
	static const struct {
		const char *condition, *filter;
	} cases[] = {
		{ "res < -1 && state == TWO", "(res < -1 && state == 2)" },
		{ "res in (1, 2) && comm == \"x\"",
		  "(res == 1 && COMM == \"x\") || (res == 2 && COMM == \"x\")" },
		{ "filename ~ \"*/a?\" && !(name == \"abc\")",
		  "(filename ~ \"*/a?\" && name != \"abc\")" },
		{ "!(filename ~ \"*/a?\")", "(!(filename ~ \"*/a?\"))" },
		{ "filename == \"/a/name/of/more/than/15/bytes\" || state & 6",
		  "(filename == \"/a/name/of/more/than/15/bytes\") || (state & 6)" },
		{ "saddr == 10.0.0.0/8 && res == 1", "(res == 1)" },
		{ "saddr == 10.0.0.0/8", "" },
		{ "res == 1 || uid == 0", "" },
		{ "cpu < 2 && process == \"x\"", "(CPU < 2)" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct event_format *f = make_format();
		struct ruleset *rs;
		struct source_text *src;
		struct diags d = { 0 };
		char text[512], *filter;

		snprintf(text, sizeof(text),
			 "[session-s]\nrun = -e cs\n[rule-a]\nwhen = a:b\nif = %s\n",
			 cases[i].condition);
		assert_int_equal(source_text__from_string("rules", text, &src), 0);
		assert_int_equal(ruleset__parse(src, &d, &rs), 0);
		if (fields_bind__rule(rs, &rs->rules[0], f, "", &d))
			fail_msg("%s: %s", cases[i].condition, d.v[0].msg);
		assert_int_equal(rs->rules[0].when.source, FRBPF_SOURCE_TRACEPOINT_FIELDS);
		filter = event_filter__of_rule(&rs->rules[0], f);
		assert_string_equal(filter, cases[i].filter);
		free(filter);
		ruleset__free(rs);
		event_format__free(f);
		diags__free(&d);
	}
}

#define NEED_TRACEFS()                                                                             \
	do {                                                                                       \
		NEED_ROOT();                                                                       \
		if (access("/sys/kernel/tracing/events/syscalls/sys_enter_close/format", R_OK)) {  \
			print_message("skipped: needs tracefs with system calls\n");               \
			skip();                                                                    \
		}                                                                                  \
	} while (0)

#define RARE_FD 12345

static void close_rare(long n)
{
	while (n--)
		close(RARE_FD + n % 2);
}

/* No faster than they are looked at. */
static void close_rare_slowly(long n)
{
	while (n--) {
		close(RARE_FD);
		usleep(200);
	}
}

/* Until it has seen so many. */
static uint64_t matched_by(struct detectors *d, uint32_t slot, uint64_t n)
{
	for (int i = 0; i < 1500 && matched(d, slot) < n; i++)
		usleep(20000);
	return matched(d, slot);
}

static void test_fields(void **state)
{
	struct frbpf_trigger t = { 0 };
	struct detectors *d;
	struct ruleset *rs;
	uint32_t slots[4];
	pid_t pid;

	NEED_TRACEFS();
	rs = load_rules("[rule-a]\nwhen = syscalls:sys_enter_close\n"
			"if = fd in (12345, 12346) && comm == NAME\ncount = 10 in 1m\n"
			"[rule-b]\nwhen = syscalls:sys_enter_close\n"
			"if = fd == 12346 && comm == NAME\ndump = none\n"
			"[rule-c]\nwhen = sched:sched_process_exec\n"
			"if = filename ~ \"/proc/s*/exe\" && filename != \"/proc/self/exec\"\n"
			"dump = none\n"
			"[rule-d]\nwhen = sched:sched_process_exec\n"
			"if = filename ~ \"/proc/s*/exec\"\ndump = none\n");
	d = open_detectors();
	update(d, rs->rules, rs->n_rules, slots);
	pid = spawn_subject(close_rare, 10);
	matched_by(d, slots[0], 10); /* it is looked for in /proc: not reaped before */
	assert_int_equal(await(pid), 0);
	assert_int_equal(matched(d, slots[0]), 10);
	assert_int_equal(matched(d, slots[1]), 5);
	assert_int_equal(consume(d, &t), 1);
	assert_int_equal(t.subject.pid, pid);
	assert_int_equal(t.current.pid, pid);
	assert_string_equal(t.subject.comm, subject_name());
	assert_int_equal(arg_of(rs, 0, &t, "fd"), RARE_FD);
	assert_int_equal(await(spawn_subject(exec_self, 0)), 42);
	assert_in_range(matched_by(d, slots[2], 1), 1, 100);
	assert_int_equal(matched(d, slots[3]), 0);
	detectors__free(d);
	ruleset__free(rs);
}

static struct event_sample hit_at(uint64_t time, uint32_t cpu, uint32_t tid, const char *raw)
{
	return (struct event_sample){
		.time = time, .cpu = cpu, .tid = tid, .raw = raw, .size = strlen(raw)
	};
}

/* What two events saw of one hit is known by what follows it at once. */
static void test_seen_hits(void **state)
{
	const struct event_sample old[] = {
		hit_at(100, 0, 7, "a"), hit_at(200, 0, 7, "a"), hit_at(210, 1, 7, "a"),
		hit_at(300, 0, 8, "a"), hit_at(310, 0, 8, "b"),
	};
	struct seen_hits *h = seen_hits__new();
	struct event_sample s;

	assert_non_null(h);
	for (size_t i = 0; i < ARRAY_SIZE(old); i++)
		seen_hits__add(h, &old[i]);
	assert_false(seen_hits__overflowed(h));
	s = hit_at(101, 0, 7, "a"); /* the first was of the older event alone */
	assert_true(seen_hits__take(h, &s));
	s = hit_at(199, 0, 7, "a"); /* that one is taken */
	assert_false(seen_hits__take(h, &s));
	s = hit_at(209, 1, 7, "a");
	assert_true(seen_hits__take(h, &s));
	s = hit_at(299, 0, 8, "b");
	assert_true(seen_hits__take(h, &s));
	s = hit_at(300, 0, 8, "a");
	assert_true(seen_hits__take(h, &s));
	s = hit_at(301, 0, 8, "a"); /* of the younger one alone */
	assert_false(seen_hits__take(h, &s));
	for (int i = 0; i < 4096; i++)
		seen_hits__add(h, &old[0]);
	assert_true(seen_hits__overflowed(h));
	seen_hits__free(h);
}

/* While the filter changes, no event is missed and none is seen twice. */
static void test_fields_reload(void **state)
{
	enum { N = 4000, RELOADS = 25 };
	struct detectors_stats stats;
	struct ruleset *rs[2];
	struct detectors *d;
	uint32_t slots[2];
	pid_t pid;

	NEED_TRACEFS();
	rs[0] = load_rules(
		"[rule-a]\nwhen = syscalls:sys_enter_close\nif = fd == 12345\ndump = none\n");
	rs[1] = load_rules(
		"[rule-a]\nwhen = syscalls:sys_enter_close\nif = fd == 12345\ndump = none\n"
		"[rule-b]\nwhen = syscalls:sys_enter_close\nif = fd == 54321\ndump = none\n");
	d = open_detectors();
	update(d, rs[0]->rules, rs[0]->n_rules, slots);
	pid = spawn_subject(close_rare_slowly, N);
	for (int i = 1; i <= RELOADS; i++)
		update(d, rs[i % 2]->rules, rs[i % 2]->n_rules, slots);
	assert_int_equal(await(pid), 0);
	matched_by(d, slots[0], N);
	detectors__stats(d, &stats);
	assert_int_equal(stats.missing_storage, 0);
	assert_int_equal(matched(d, slots[0]), N);
	detectors__free(d);
	ruleset__free(rs[0]);
	ruleset__free(rs[1]);
}

/* While its only rule cools down, the event is paused. */
static void test_fields_pause(void **state)
{
	struct frbpf_trigger t = { 0 };
	struct detectors *d;
	struct ruleset *rs;
	uint64_t made = 1;
	uint32_t slot;

	NEED_TRACEFS();
	rs = load_rules("[rule-a]\nwhen = syscalls:sys_enter_close\nif = fd == 12345\n"
			"cooldown = 2s\n");
	d = open_detectors();
	update(d, rs->rules, rs->n_rules, &slot);
	assert_int_equal(await(spawn_subject(close_rare, 2)), 0);
	assert_int_equal(matched_by(d, slot, 1), 1);
	for (int i = 0; i < 2000 && matched(d, slot) < 2; i++) {
		assert_int_equal(await(spawn_subject(close_rare, 20)), 0);
		made += 10;
		usleep(10000);
	}
	/* it came back; of the hundreds that were made meanwhile, few were looked at: what is made before the pause
	 * begins, and until it is read */
	assert_in_range(matched(d, slot), 2, made / 2);
	assert_in_range(consume(d, &t), 1, 3);
	detectors__free(d);
	ruleset__free(rs);
}

/* ---- what the kernel thinks of the programs ---- */

/* Those whose names are ours and that were loaded behind @after. */
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

/* The largest: as many rules, comparisons and values as there can be. */
static void test_verified_instructions(void **state)
{
	struct ruleset *rs;
	struct rule_conf *rules;
	struct detectors *d;
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
	update(d, rules, FRBPF_MAX_RULES, slots);
	assert_true(check_programs(before) >= 1);
	detectors__free(d);
	free(rules);
	ruleset__free(rs);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),	      cmocka_unit_test(test_bad_paths),
		cmocka_unit_test(test_crash),	      cmocka_unit_test(test_handler),
		cmocka_unit_test(test_signal_target), cmocka_unit_test(test_kinds_of_values),
		cmocka_unit_test(test_reload),	      cmocka_unit_test(test_format),
		cmocka_unit_test(test_filter),	      cmocka_unit_test(test_fields),
		cmocka_unit_test(test_seen_hits),     cmocka_unit_test(test_fields_reload),
		cmocka_unit_test(test_fields_pause),  cmocka_unit_test(test_verified_instructions),
	};

	if (argc > 1 && !strcmp(argv[1], "--exit"))
		return 42;
	return cmocka_run_group_tests_name("tracepoint", tests, NULL, NULL);
}
