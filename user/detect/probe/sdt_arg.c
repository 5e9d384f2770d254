// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <linux/ptrace.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "common/cleanup.h"
#include "detect/probe/sdt_arg.h"
#include "frbpf.h"

#define CONST_MAX (UINT64_MAX >> FRBPF_SDT_CONST_SHIFT)

/* ---- registers: where in the kernel's struct pt_regs, -1: there is no such ---- */

#if defined(__x86_64__)

#define REG(member_, ...)                                                                          \
	{                                                                                          \
		offsetof(struct pt_regs, member_),                                                 \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
static const struct {
	size_t offset;
	const char *names[4]; /* of 8, 4, 2 and 1 bytes */
} regs[] = {
	REG(rax, "rax", "eax", "ax", "al"),	 REG(rbx, "rbx", "ebx", "bx", "bl"),
	REG(rcx, "rcx", "ecx", "cx", "cl"),	 REG(rdx, "rdx", "edx", "dx", "dl"),
	REG(rsi, "rsi", "esi", "si", "sil"),	 REG(rdi, "rdi", "edi", "di", "dil"),
	REG(rbp, "rbp", "ebp", "bp", "bpl"),	 REG(rsp, "rsp", "esp", "sp", "spl"),
	REG(r8, "r8", "r8d", "r8w", "r8b"),	 REG(r9, "r9", "r9d", "r9w", "r9b"),
	REG(r10, "r10", "r10d", "r10w", "r10b"), REG(r11, "r11", "r11d", "r11w", "r11b"),
	REG(r12, "r12", "r12d", "r12w", "r12b"), REG(r13, "r13", "r13d", "r13w", "r13b"),
	REG(r14, "r14", "r14d", "r14w", "r14b"), REG(r15, "r15", "r15d", "r15w", "r15b"),
};

static int find_reg(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(regs); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(regs[i].names); k++) {
			if (strlen(regs[i].names[k]) == len && !memcmp(regs[i].names[k], name, len))
				return regs[i].offset;
		}
	}
	return -1;
}

#elif defined(__aarch64__)

static int find_reg(const char *name, size_t len)
{
	int n;

	if (len == 2 && !memcmp(name, "sp", 2))
		return offsetof(struct user_pt_regs, sp);
	if (len < 2 || len > 3 || (name[0] != 'x' && name[0] != 'w') ||
	    !isdigit((unsigned char)name[1]) || (len == 3 && !isdigit((unsigned char)name[2])))
		return -1;
	n = len == 2 ? name[1] - '0' : 10 * (name[1] - '0') + name[2] - '0';
	return n > 30 ? -1 : (int)(offsetof(struct user_pt_regs, regs) + n * sizeof(uint64_t));
}

#endif

/* ---- words ---- */

static void skip_blanks(const char **p)
{
	while (**p == ' ')
		(*p)++;
}

static bool take(const char **p, char c)
{
	if (**p != c)
		return false;
	(*p)++;
	return true;
}

static bool take_number(const char **p, long long *ret)
{
	char *end;

	if (!isdigit((unsigned char)**p) && !(**p == '-' && isdigit((unsigned char)(*p)[1])))
		return false;
	errno = 0;
	*ret = strtoll(*p, &end, 0);
	if (errno)
		return false;
	*p = end;
	return true;
}

static bool take_reg(const char **p, int *ret)
{
	size_t len = 0;

	while (isalnum((unsigned char)(*p)[len]))
		len++;
	*ret = find_reg(*p, len);
	*p += len;
	return *ret >= 0;
}

/* "8@": the bytes, negative for a signed one. */
static bool take_size(const char **p, uint64_t *cookie)
{
	long long size;

	if (!take_number(p, &size) || !take(p, '@'))
		return false;
	if (size < 0)
		*cookie |= FRBPF_SDT_SIGNED;
	size = size < 0 ? -size : size;
	for (uint64_t log = 0; log < 4; log++) {
		if (size == 1LL << log) {
			*cookie |= log << FRBPF_SDT_SIZE_SHIFT;
			return true;
		}
	}
	return false;
}

/* ---- operands ---- */

static uint64_t in_reg(int reg)
{
	return FRBPF_SDT_REG | (uint64_t)reg << FRBPF_SDT_REG_SHIFT;
}

/* A negative one is no duration, as is one that is too large. */
static uint64_t constant(long long n)
{
	uint64_t v = (uint64_t)n > CONST_MAX ? CONST_MAX : (uint64_t)n;

	return FRBPF_SDT_CONST | v << FRBPF_SDT_CONST_SHIFT;
}

static bool in_memory(int reg, long long disp, uint64_t *cookie)
{
	if (disp != (int32_t)disp)
		return false;
	*cookie |= FRBPF_SDT_MEM | (uint64_t)reg << FRBPF_SDT_REG_SHIFT |
		   (uint64_t)disp << FRBPF_SDT_DISP_SHIFT;
	return true;
}

#if defined(__x86_64__)

static bool take_operand(const char **p, uint64_t *cookie)
{
	long long n = 0;
	int reg;

	if (take(p, '$')) {
		if (!take_number(p, &n))
			return false;
		*cookie = constant(n);
		return true;
	}
	if (take(p, '%')) {
		if (!take_reg(p, &reg))
			return false;
		*cookie |= in_reg(reg);
		return true;
	}
	take_number(p, &n);
	return take(p, '(') && take(p, '%') && take_reg(p, &reg) && take(p, ')') &&
	       in_memory(reg, n, cookie);
}

#elif defined(__aarch64__)

static bool take_operand(const char **p, uint64_t *cookie)
{
	long long n = 0;
	int reg;

	if (take(p, '[')) {
		if (!take_reg(p, &reg))
			return false;
		if (take(p, ',')) {
			skip_blanks(p);
			take(p, '#');
			if (!take_number(p, &n))
				return false;
		}
		return take(p, ']') && in_memory(reg, n, cookie);
	}
	if (isalpha((unsigned char)**p)) {
		if (!take_reg(p, &reg))
			return false;
		*cookie |= in_reg(reg);
		return true;
	}
	take(p, '#');
	if (!take_number(p, &n))
		return false;
	*cookie = constant(n);
	return true;
}

#endif

int sdt_arg__parse(const char *args, uint64_t *ret)
{
	uint64_t cookie = 0;
	const char *p = args;

	skip_blanks(&p);
	if (!*p) {
		*ret = FRBPF_SDT_NONE;
		return 0;
	}
	if (!take_size(&p, &cookie) || !take_operand(&p, &cookie) || (*p && *p != ' '))
		return -EINVAL;
	*ret = cookie;
	return 0;
}
