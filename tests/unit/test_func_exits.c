// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "examine/probe/func_exits.h"

#if defined(__x86_64__)
#define BYTES(...) { __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ })

/* As GNU as encodes them. */
static const struct {
	const char *text;
	uint8_t code[15];
	size_t len;
	enum insn_kind kind;
	int64_t target;
} known[] = {
	{ "ret", BYTES(0xc3), INSN_RETURN },
	{ "rep ret", BYTES(0xf3, 0xc3), INSN_RETURN },
	{ "bnd ret", BYTES(0xf2, 0xc3), INSN_RETURN },
	{ "ret $8", BYTES(0xc2, 8, 0), INSN_RETURN },
	{ "lret", BYTES(0xcb) },
	{ "nop", BYTES(0x90) },
	{ "endbr64", BYTES(0xf3, 0x0f, 0x1e, 0xfa) },
	{ "push %rbp", BYTES(0x55) },
	{ "push %r15", BYTES(0x41, 0x57) },
	{ "mov %rsp,%rbp", BYTES(0x48, 0x89, 0xe5) },
	{ "sub $0x128,%rsp", BYTES(0x48, 0x81, 0xec, 0x28, 1, 0, 0) },
	{ "movabs $1,%rax", BYTES(0x48, 0xb8, 1, 0, 0, 0, 0, 0, 0, 0) },
	{ "mov $1,%eax", BYTES(0xb8, 1, 0, 0, 0) },
	{ "mov $1,%ax", BYTES(0x66, 0xb8, 1, 0) },
	{ "movabs 0x1,%al", BYTES(0xa0, 1, 0, 0, 0, 0, 0, 0, 0) },
	{ "mov 8(%rsp),%rax", BYTES(0x48, 0x8b, 0x44, 0x24, 8) },
	{ "mov 0x100(%rsp,%rax,8),%rax", BYTES(0x48, 0x8b, 0x84, 0xc4, 0, 1, 0, 0) },
	{ "mov 1(,%rax,8),%rax", BYTES(0x48, 0x8b, 4, 0xc5, 1, 0, 0, 0) },
	{ "lea 0x20(%rip),%rdi", BYTES(0x48, 0x8d, 0x3d, 0x20, 0, 0, 0) },
	{ "testb $1,(%rax)", BYTES(0xf6, 0, 1) },
	{ "notb (%rax)", BYTES(0xf6, 0x10) },
	{ "test $1,%eax (ModRM)", BYTES(0xf7, 0xc0, 1, 0, 0, 0) },
	{ "test $1,%ax (ModRM)", BYTES(0x66, 0xf7, 0xc0, 1, 0) },
	{ "neg %eax", BYTES(0xf7, 0xd8) },
	{ "imul $100,%rax,%rax", BYTES(0x48, 0x69, 0xc0, 0x64, 0, 0, 0) },
	{ "shl $4,%rax", BYTES(0x48, 0xc1, 0xe0, 4) },
	{ "enter $16,$0", BYTES(0xc8, 16, 0, 0) },
	{ "pshufd $0,%xmm0,%xmm1", BYTES(0x66, 0x0f, 0x70, 0xc8, 0) },
	{ "pcmpistri $0,%xmm0,%xmm1", BYTES(0x66, 0x0f, 0x3a, 0x63, 0xc8, 0) },
	{ "pshufb %xmm0,%xmm1", BYTES(0x66, 0x0f, 0x38, 0, 0xc8) },
	{ "vzeroupper", BYTES(0xc5, 0xf8, 0x77) },
	{ "vpshufd $0,%ymm0,%ymm1", BYTES(0xc5, 0xfd, 0x70, 0xc8, 0) },
	{ "vpaddd %ymm0,%ymm1,%ymm2", BYTES(0xc5, 0xf5, 0xfe, 0xd0) },
	{ "vpermq $0,%ymm0,%ymm1", BYTES(0xc4, 0xe3, 0xfd, 0, 0xc8, 0) },
	{ "shlx %rax,%rbx,%rcx", BYTES(0xc4, 0xe2, 0xf9, 0xf7, 0xcb) },
	{ "vmovdqu64 64(%rdi),%zmm0", BYTES(0x62, 0xf1, 0xfe, 0x48, 0x6f, 0x47, 1) },
	{ "vpternlogd $1,%zmm0,%zmm0,%zmm0", BYTES(0x62, 0xf3, 0x7d, 0x48, 0x25, 0xc0, 1) },
	{ "rdpkru", BYTES(0x0f, 0x01, 0xee) },
	{ "pop (%rax)", BYTES(0x8f, 0) },
	{ "lock cmpxchg %ecx,(%rdx)", BYTES(0xf0, 0x0f, 0xb1, 0x0a) },
	{ "call .+5", BYTES(0xe8, 0, 0, 0, 0), INSN_CALL, 5 },
	{ "call *%rax", BYTES(0xff, 0xd0) },
	{ "jmp *%rax", BYTES(0xff, 0xe0), INSN_INDIRECT },
	{ "notrack jmp *%rax", BYTES(0x3e, 0xff, 0xe0), INSN_INDIRECT },
	{ "jmp *8(%rip)", BYTES(0xff, 0x25, 8, 0, 0, 0), INSN_INDIRECT },
	{ "jmp .-2", BYTES(0xeb, 0xfc), INSN_JUMP, -2 },
	{ "jmp .+0x105", BYTES(0xe9, 0, 1, 0, 0), INSN_JUMP, 0x105 },
	{ "je .+2", BYTES(0x74, 0), INSN_JUMP, 2 },
	{ "jne .-0x100", BYTES(0x0f, 0x85, 0xfa, 0xfe, 0xff, 0xff), INSN_JUMP, -0x100 },
	{ "syscall", BYTES(0x0f, 0x05) },
	{ "ud2", BYTES(0x0f, 0x0b), INSN_STOP },
	{ "hlt", BYTES(0xf4), INSN_STOP },
};

static void decodes_x86(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		struct insn insn;

		if (insn__decode(EM_X86_64, known[i].code, 15, &insn) || insn.len != known[i].len ||
		    insn.kind != known[i].kind || insn.target != known[i].target)
			fail_msg("%s: %u bytes, kind %d, target %ld", known[i].text, insn.len,
				 insn.kind, (long)insn.target);
		/* one byte less is not enough */
		assert_int_equal(insn__decode(EM_X86_64, known[i].code, known[i].len - 1, &insn),
				 -EILSEQ);
	}
}

static void refuses_others(void **state)
{
	static const uint8_t bad[][15] = { { 0x06 },	   { 0x60 },	     { 0x9a },
					   { 0xd6 },	   { 0xea },	     { 0x0f, 0x04 },
					   { 0x0f, 0x36 }, { 0xc4, 0, 0, 0 } };
	uint8_t prefixes[20];
	struct insn insn;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(insn__decode(EM_X86_64, bad[i], 15, &insn), -EILSEQ);
	memset(prefixes, 0x66, sizeof(prefixes));
	assert_int_equal(insn__decode(EM_X86_64, prefixes, sizeof(prefixes), &insn), -EILSEQ);
}

static void exits_x86(void **state)
{
	/* test; je 1f; ret; 1: je to the cold part; jmp elsewhere */
	static const uint8_t body[] = { 0x85, 0xff, 0x74, 0x01, 0xc3, 0x0f, 0x84, 0xf5,
					0x0f, 0,    0,	  0xe9, 0,    0x10, 0,	  0 };
	static const uint8_t cold[] = { 0x90, 0xc3 };
	const struct func_part parts[] = { { 0x1000, sizeof(body), body },
					   { 0x2000, sizeof(cold), cold } };
	struct func_exits e;

	assert_int_equal(func_exits__find(EM_X86_64, parts, 2, false, &e), 0);
	assert_int_equal(e.n, 2);
	assert_int_equal(e.at[0], 0x1004);
	assert_int_equal(e.at[1], 0x2001);
	assert_int_equal(e.jumps, 1);
	assert_int_equal(func_exits__find(EM_X86_64, parts, 1, false, &e), 0);
	assert_int_equal(e.n, 1);
	assert_int_equal(e.jumps, 2);
	assert_int_equal(func_exits__check_boundary(EM_X86_64, parts, 4), 0);
	assert_int_equal(func_exits__check_boundary(EM_X86_64, parts, 6), -EINVAL);
}

static void bounds(void **state)
{
	uint8_t rets[FUNC_EXITS_MAX + 1][3]; /* je .+3; ret */
	struct func_part part = { 0x1000, FUNC_EXITS_MAX * 3, rets[0] };
	struct func_exits e = { .n = 4711 };

	for (size_t i = 0; i < ARRAY_SIZE(rets); i++)
		memcpy(rets[i], "\x74\x01\xc3", 3);
	assert_int_equal(func_exits__find(EM_X86_64, &part, 1, false, &e), 0);
	assert_int_equal(e.n, FUNC_EXITS_MAX);
	assert_int_equal(e.at[1], 0x1005);
	part.size += 3;
	e.n = 4711;
	assert_int_equal(func_exits__find(EM_X86_64, &part, 1, false, &e), -E2BIG);
	assert_int_equal(e.n, 4711);
	rets[1][0] = 0x06;
	assert_int_equal(func_exits__find(EM_X86_64, &part, 1, false, &e), -EILSEQ);
}

/* A breakpoint in data would change what a program reads. */
static void data_among_code(void **state)
{
	/* jmp over data that looks like returns; ret; a landing pad that returns */
	uint8_t body[] = { 0xeb, 4, 0xc3, 0x90, 0xc3, 0x06, 0xc3, 0x90, 0xc3 };
	const struct func_part part = { 0x1000, sizeof(body), body };
	struct func_exits e;

	assert_int_equal(func_exits__find(EM_X86_64, &part, 1, false, &e), 0);
	assert_int_equal(e.n, 1);
	assert_int_equal(e.at[0], 0x1006);
	assert_int_equal(func_exits__check_boundary(EM_X86_64, &part, 6), 0);
	assert_int_equal(func_exits__check_boundary(EM_X86_64, &part, 2), -EBADMSG);
	/* with a landing pad it is unknown which other bytes are code */
	assert_int_equal(func_exits__find(EM_X86_64, &part, 1, true, &e), -EBADMSG);
	/* nor is it known with jumps through pointers: jmp *%rax */
	memcpy(body, "\xff\xe0\x06\x90\x90\x06\xc3\x90\xc3", sizeof(body));
	assert_int_equal(func_exits__find(EM_X86_64, &part, 1, false, &e), -EBADMSG);
	memcpy(body, "\xff\xe0\x90\x90\x90\x90\xc3\x90\xc3", sizeof(body));
	assert_int_equal(func_exits__find(EM_X86_64, &part, 1, false, &e), -EBADMSG);
	assert_int_equal(func_exits__check_boundary(EM_X86_64, &part, 6), -EBADMSG);
	/* je over the jump; ret; padding that holds no return */
	memcpy(body, "\x74\x02\xff\xe0\xc3\x0f\x1f\x40\0", sizeof(body));
	assert_int_equal(func_exits__find(EM_X86_64, &part, 1, false, &e), 0);
	assert_int_equal(e.n, 1);
	/* code after ud2 is not reached */
	memcpy(body, "\x74\x02\x0f\x0b\xc3\xc3\xc3\xc3\xc3", sizeof(body));
	assert_int_equal(func_exits__find(EM_X86_64, &part, 1, false, &e), 0);
	assert_int_equal(e.n, 1);
}

/* Instructions that overlap: it is ambiguous where each one begins. */
static void overlapping(void **state)
{
	/* je into the middle of mov $0xc3c3c3c3,%eax; ret */
	static const uint8_t body[] = { 0x74, 0x01, 0xb8, 0xc3, 0xc3, 0xc3, 0xc3, 0xc3 };
	/* call over data, whose address is popped; ret */
	static const uint8_t over[] = { 0xe8, 2, 0, 0, 0, 0xc3, 0x90, 0x58, 0xc3 };
	/* je over the prefix of lock cmpxchg %ecx,(%rdx), as old C libraries do; ret */
	static const uint8_t lock[] = { 0x74, 0x01, 0xf0, 0x0f, 0xb1, 0x0a, 0xc3 };
	struct func_part part = { 0x1000, sizeof(body), body };
	struct func_exits e;

	assert_int_equal(func_exits__find(EM_X86_64, &part, 1, false, &e), -EBADMSG);
	assert_int_equal(func_exits__check_boundary(EM_X86_64, &part, 2), -EBADMSG);
	assert_int_equal(func_exits__check_boundary(EM_X86_64, &part, 3), -EBADMSG);
	assert_int_equal(func_exits__check_boundary(EM_X86_64, &part, 7), 0);
	part = (struct func_part){ 0x1000, sizeof(over), over };
	assert_int_equal(func_exits__find(EM_X86_64, &part, 1, false, &e), -EBADMSG);
	assert_int_equal(func_exits__check_boundary(EM_X86_64, &part, 5), -EBADMSG);
	part = (struct func_part){ 0x1000, sizeof(lock), lock };
	assert_int_equal(func_exits__find(EM_X86_64, &part, 1, false, &e), 0);
	assert_int_equal(e.at[0], 0x1006);
}

#endif

static void exits_arm64(void **state)
{
	/* paciasp; cbz x0, .+8; ret; b.eq .+8; retaa; tbz w0, #0, .+8; b .+0x1000; br x1 */
	static const uint32_t body[] = { 0xd503233f, 0xb4000040, 0xd65f03c0, 0x54000040,
					 0xd65f0bff, 0x36000040, 0x14000400, 0xd61f0020 };
	const struct func_part part = { 0x1000, sizeof(body), (const uint8_t *)body };
	struct func_exits e;

	assert_int_equal(func_exits__find(EM_AARCH64, &part, 1, false, &e), 0);
	assert_int_equal(e.n, 2);
	assert_int_equal(e.at[0], 0x1008);
	assert_int_equal(e.at[1], 0x1010);
	assert_int_equal(e.jumps, 1);
	assert_int_equal(e.indirect, 1);
	assert_int_equal(func_exits__check_boundary(EM_AARCH64, &part, 8), 0);
	assert_int_equal(func_exits__check_boundary(EM_AARCH64, &part, 6), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
		cmocka_unit_test(decodes_x86),
		cmocka_unit_test(refuses_others),
		cmocka_unit_test(exits_x86),
		cmocka_unit_test(bounds),
		cmocka_unit_test(data_among_code),
		cmocka_unit_test(overlapping),
#endif
		cmocka_unit_test(exits_arm64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
