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

struct operand {
	enum frbpf_sdt_kind kind;
	uint32_t log; /* of its size in bytes */
	bool is_signed;
	int reg;
	long long n; /* a constant; or what is added to the register */
};

/* "8@": the bytes, negative for a signed one. */
static bool take_size(const char **p, struct operand *o)
{
	long long size;

	if (!take_number(p, &size) || !take(p, '@'))
		return false;
	o->is_signed = size < 0;
	size = size < 0 ? -size : size;
	for (o->log = 0; o->log < 4; o->log++) {
		if (size == 1LL << o->log)
			return true;
	}
	return false;
}

/* ---- operands ---- */

static bool is_in(struct operand *o, enum frbpf_sdt_kind kind)
{
	o->kind = kind;
	return kind != FRBPF_SDT_MEM || o->n == (int32_t)o->n;
}

#if defined(__x86_64__)

static bool take_operand(const char **p, struct operand *o)
{
	if (take(p, '$'))
		return take_number(p, &o->n) && is_in(o, FRBPF_SDT_CONST);
	if (take(p, '%'))
		return take_reg(p, &o->reg) && is_in(o, FRBPF_SDT_REG);
	take_number(p, &o->n);
	return take(p, '(') && take(p, '%') && take_reg(p, &o->reg) && take(p, ')') &&
	       is_in(o, FRBPF_SDT_MEM);
}

#elif defined(__aarch64__)

static bool take_operand(const char **p, struct operand *o)
{
	if (take(p, '[')) {
		if (!take_reg(p, &o->reg))
			return false;
		if (take(p, ',')) {
			skip_blanks(p);
			take(p, '#');
			if (!take_number(p, &o->n))
				return false;
		}
		return take(p, ']') && is_in(o, FRBPF_SDT_MEM);
	}
	if (isalpha((unsigned char)**p))
		return take_reg(p, &o->reg) && is_in(o, FRBPF_SDT_REG);
	take(p, '#');
	return take_number(p, &o->n) && is_in(o, FRBPF_SDT_CONST);
}

#endif

static bool take_arg(const char **p, struct operand *ret)
{
	struct operand o = { .kind = FRBPF_SDT_NONE };

	if (!take_size(p, &o) || !take_operand(p, &o) || (**p && **p != ' '))
		return false;
	*ret = o;
	return true;
}

static uint64_t cookie_of(const struct operand *o)
{
	uint64_t cookie = o->kind;

	if (o->kind == FRBPF_SDT_CONST) /* a negative one is no duration, as is one too large */
		return cookie | ((uint64_t)o->n > CONST_MAX ? CONST_MAX : (uint64_t)o->n)
					<< FRBPF_SDT_CONST_SHIFT;
	cookie |= (uint64_t)o->log << FRBPF_SDT_SIZE_SHIFT;
	cookie |= (uint64_t)o->reg << FRBPF_SDT_REG_SHIFT;
	if (o->is_signed)
		cookie |= FRBPF_SDT_SIGNED;
	if (o->kind == FRBPF_SDT_MEM)
		cookie |= (uint64_t)o->n << FRBPF_SDT_DISP_SHIFT;
	return cookie;
}

int sdt_arg__parse(const char *args, uint64_t *ret)
{
	const char *p = args;
	struct operand o;

	skip_blanks(&p);
	if (!*p) {
		*ret = FRBPF_SDT_NONE;
		return 0;
	}
	if (!take_arg(&p, &o))
		return -EINVAL;
	*ret = cookie_of(&o);
	return 0;
}

int sdt_args__parse(const char *args, struct frbpf_usdt_place *ret, const char **ret_bad)
{
	struct frbpf_usdt_place place = { 0 };
	const char *p = args, *begin;
	struct operand o;

	for (int i = 0; i < FRBPF_MAX_ARGS; i++) {
		skip_blanks(&p);
		if (!*p)
			break;
		begin = p;
		if (!take_arg(&p, &o)) {
			*ret_bad = begin;
			return -EINVAL;
		}
		place.arg[i] = (struct frbpf_usdt_arg){
			.value = o.n,
			.reg = o.reg,
			.kind = o.kind,
			.cut = 64 - (8 << o.log),
			.is_signed = o.is_signed,
		};
		place.n_args = i + 1;
	}
	*ret = place;
	return 0;
}
