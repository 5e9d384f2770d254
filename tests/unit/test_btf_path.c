// SPDX-License-Identifier: GPL-2.0-only
/*
 * Paths from the arguments of tracepoints through kernel types. Needs BTF, not root.
 * with: others
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "detect/tracepoint/btf_path.h"

#define NEED_BTF()                                                                                 \
	do {                                                                                       \
		if (access("/sys/kernel/btf/vmlinux", R_OK)) {                                     \
			print_message("skipped: needs kernel BTF\n");                              \
			skip();                                                                    \
		}                                                                                  \
	} while (0)

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
		/* an event of a class: its functions are named after the class */
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
			assert_int_equal(constant__find(v.symbols, "HRTIMER_MODE_REL", 16, &number),
					 0);
		btf_value__free(&v);
		btf_trace__free(t);
	}
}

static void test_bad_paths(void **state)
{
	static const struct {
		const char *path, *bad, *message; /* part of the message */
	} cases[] = {
		{ "prv.pid", "prv", "did you mean 'prev'?" },
		{ "pid", "pid", "use one of preempt prev next" },
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
		{ "prev.pid[0]", "pid", "this is not an array" },
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_bad_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
