// SPDX-License-Identifier: GPL-2.0-only
/* Arguments of static probes. */
#include <errno.h>
#include <linux/ptrace.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "examine/probe/usdt_note.h"
#include "abi.h"

static void check_arg(const struct frbpf_usdt_arg *a, enum frbpf_sdt_kind kind, size_t reg,
		      int64_t value, int cut, bool is_signed)
{
	assert_int_equal(a->kind, kind);
	assert_int_equal(a->reg, reg);
	assert_int_equal(a->value, value);
	assert_int_equal(a->cut, cut);
	assert_int_equal(a->is_signed, is_signed);
}

/* Each has one operand: kind, position of the register, constant or offset, dropped bits, sign. */
static void test_operands(void **state)
{
	static const struct {
		const char *text;
		enum frbpf_sdt_kind kind;
		size_t reg;
		int64_t value;
		int cut;
		bool is_signed;
	} good[] = {
		{ "", FRBPF_SDT_NONE, 0, 0, 0, false },
#if defined(__x86_64__)
		{ "8@%rax", FRBPF_SDT_REG, offsetof(struct pt_regs, rax), 0, 0, false },
		{ "-4@%r13d", FRBPF_SDT_REG, offsetof(struct pt_regs, r13), 0, 32, true },
		{ "-1@%sil", FRBPF_SDT_REG, offsetof(struct pt_regs, rsi), 0, 56, true },
		{ "8@-16(%rbp)", FRBPF_SDT_MEM, offsetof(struct pt_regs, rbp), -16, 0, false },
		{ "2@(%rsp)", FRBPF_SDT_MEM, offsetof(struct pt_regs, rsp), 0, 48, false },
		{ "8@$812000000", FRBPF_SDT_CONST, 0, 812000000, 0, false },
		{ "8@$0x10", FRBPF_SDT_CONST, 0, 16, 0, false },
		{ "8@$-1", FRBPF_SDT_CONST, 0, -1, 0, false },
		{ "8@$9223372036854775807", FRBPF_SDT_CONST, 0, INT64_MAX, 0, false },
#elif defined(__aarch64__)
		{ "8@x0", FRBPF_SDT_REG, offsetof(struct user_pt_regs, regs), 0, 0, false },
		{ "-4@w30", FRBPF_SDT_REG, offsetof(struct user_pt_regs, regs[30]), 0, 32, true },
		{ "8@[sp, -16]", FRBPF_SDT_MEM, offsetof(struct user_pt_regs, sp), -16, 0, false },
		{ "2@[x2]", FRBPF_SDT_MEM, offsetof(struct user_pt_regs, regs[2]), 0, 48, false },
		{ "8@812000000", FRBPF_SDT_CONST, 0, 812000000, 0, false },
		{ "8@#16", FRBPF_SDT_CONST, 0, 16, 0, false },
		{ "8@-1", FRBPF_SDT_CONST, 0, -1, 0, false },
#endif
	};
	struct frbpf_usdt_place place;
	const char *bad;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		if (usdt_args__parse(good[i].text, &place, &bad))
			fail_msg("%s is refused", good[i].text);
		check_arg(&place.arg[0], good[i].kind, good[i].reg, good[i].value, good[i].cut,
			  good[i].is_signed);
	}
}

static void test_bad_args(void **state)
{
	const char *const bad[] = {
		"8",
		"8@",
		"@%rax",
		"3@%rax",
		"16@%rax",
		"8@%xmm0",
		"8@%raxx",
		"8@%",
		"8@$",
		"8@$x",
		"8@var(%rip)",
		"8@4(%rax",
		"8@4294967296(%rax)",
		"8@(%rax,%rbx,8)",
		"8@%rax+1",
		"8@$99999999999999999999",
		"8@x31",
		"8@x100",
		"8@[x0, x1]",
		"8@[sp",
		"-@%rax",
	};
	struct frbpf_usdt_place place = { .n_args = 42 };
	const char *at;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (!usdt_args__parse(bad[i], &place, &at))
			fail_msg("%s is taken", bad[i]);
		assert_int_equal(place.n_args, 42);
	}
}

static void test_all_args(void **state)
{
	struct frbpf_usdt_place place;
	const char *bad = NULL;

#if defined(__x86_64__)
	const size_t first = offsetof(struct pt_regs, rdi), sp = offsetof(struct pt_regs, rsp);
	const char *text = " -4@%edi 8@-24(%rsp)  1@$200 -2@$-9";
	const char *const many = "1@$1 1@$2 1@$3 1@$4 1@$5 1@$6 1@$7 1@$8 nonsense";
	const char *const unknown = "8@%rax 4@counter(%rip) 8@%rbx";
#else
	const size_t first = offsetof(struct user_pt_regs, regs),
		     sp = offsetof(struct user_pt_regs, sp);
	const char *text = " -4@x0 8@[sp, -24]  1@200 -2@-9";
	const char *const many = "1@1 1@2 1@3 1@4 1@5 1@6 1@7 1@8 nonsense";
	const char *const unknown = "8@x1 4@[x0, x1] 8@x2";
#endif

	assert_int_equal(usdt_args__parse(text, &place, &bad), 0);
	check_arg(&place.arg[0], FRBPF_SDT_REG, first, 0, 32, true);
	check_arg(&place.arg[1], FRBPF_SDT_MEM, sp, -24, 0, false);
	check_arg(&place.arg[2], FRBPF_SDT_CONST, 0, 200, 56, false);
	check_arg(&place.arg[3], FRBPF_SDT_CONST, 0, -9, 48, true);
	check_arg(&place.arg[4], FRBPF_SDT_NONE, 0, 0, 0, false);
	assert_int_equal(place.n_args, 4);
	assert_int_equal(usdt_args__parse(unknown, &place, &bad), -EINVAL);
	assert_ptr_equal(bad, strstr(unknown, "4@"));
	check_arg(&place.arg[3], FRBPF_SDT_CONST, 0, -9, 48, true); /* untouched */
	assert_int_equal(usdt_args__parse("", &place, &bad), 0);
	check_arg(&place.arg[0], FRBPF_SDT_NONE, 0, 0, 0, false);
	assert_int_equal(place.n_args, 0);
	/* more than the maximum */
	assert_int_equal(usdt_args__parse(many, &place, &bad), 0);
	check_arg(&place.arg[7], FRBPF_SDT_CONST, 0, 8, 56, false);
	assert_int_equal(place.n_args, FRBPF_MAX_ARGS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operands),
		cmocka_unit_test(test_bad_args),
		cmocka_unit_test(test_all_args),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
