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
#include "examine/probe/usdt_note.h"

/* ---- notes ---- */

#define NT_STAPSDT 3
#define OWNER	   "stapsdt"
#define ALIGN4(n)  (((size_t)(n) + 3) & ~(size_t)3)

/* Three addresses: probe, section .stapsdt.base, semaphore. Then three strings. */
#define TEXTS_AT (3 * sizeof(uint64_t))

/* Get the string at *p, and move *p after it. NULL: it has no end. */
static const char *take_text(const char **p, const char *end)
{
	const char *text = *p, *nul = memchr(text, 0, end - text);

	if (!nul)
		return NULL;
	*p = nul + 1;
	return text;
}

static int take_note(const char *desc, size_t len, int (*fn)(const struct elf_usdt *p, void *arg),
		     void *arg)
{
	const char *p = desc + TEXTS_AT, *end = desc + len;
	struct elf_usdt probe;

	if (len < TEXTS_AT)
		return 0;
	memcpy(&probe.addr, desc, sizeof(probe.addr));
	memcpy(&probe.base, desc + sizeof(probe.addr), sizeof(probe.base));
	memcpy(&probe.semaphore, desc + 2 * sizeof(probe.addr), sizeof(probe.semaphore));
	probe.provider = take_text(&p, end);
	probe.name = probe.provider ? take_text(&p, end) : NULL;
	probe.args = probe.name ? take_text(&p, end) : NULL;
	if (!probe.name || !*probe.name)
		return 0;
	probe.args = probe.args ?: "";
	return fn(&probe, arg);
}

int usdt_notes__each(const void *notes, size_t len, int (*fn)(const struct elf_usdt *p, void *arg),
		     void *arg)
{
	const char *p = notes;
	int err = 0;

	while (!err && len >= 12) {
		uint32_t head[3]; /* size of the name, size of the rest, type */
		size_t name, desc;

		memcpy(head, p, sizeof(head));
		name = ALIGN4(head[0]);
		desc = ALIGN4(head[1]);
		p += sizeof(head);
		len -= sizeof(head);
		if (name > len || head[1] > len - name)
			break;
		if (head[2] == NT_STAPSDT && head[0] == sizeof(OWNER) &&
		    !memcmp(p, OWNER, sizeof(OWNER)))
			err = take_note(p + name, head[1], fn, arg);
		if (desc > len - name)
			break;
		p += name + desc;
		len -= name + desc;
	}
	return err;
}

/* ---- registers: offsets in struct pt_regs; -1: unknown ---- */

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
	const char *names[4]; /* names for 8, 4, 2 and 1 bytes */
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

static void skip_note_blanks(const char **p)
{
	while (**p == ' ')
		(*p)++;
}

static bool take_char(const char **p, char c)
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
	uint32_t log; /* binary logarithm of its size in bytes */
	bool is_signed;
	int reg;
	long long n; /* a constant, or an offset from the register */
};

/* "8@": the size in bytes; negative: signed. */
static bool take_size(const char **p, struct operand *o)
{
	long long size;

	if (!take_number(p, &size) || !take_char(p, '@'))
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

static bool set_operand_place(struct operand *o, enum frbpf_sdt_kind kind)
{
	o->kind = kind;
	return kind != FRBPF_SDT_MEM || o->n == (int32_t)o->n;
}

#if defined(__x86_64__)

static bool take_note_operand(const char **p, struct operand *o)
{
	if (take_char(p, '$'))
		return take_number(p, &o->n) && set_operand_place(o, FRBPF_SDT_CONST);
	if (take_char(p, '%'))
		return take_reg(p, &o->reg) && set_operand_place(o, FRBPF_SDT_REG);
	take_number(p, &o->n);
	return take_char(p, '(') && take_char(p, '%') && take_reg(p, &o->reg) &&
	       take_char(p, ')') && set_operand_place(o, FRBPF_SDT_MEM);
}

#elif defined(__aarch64__)

static bool take_note_operand(const char **p, struct operand *o)
{
	if (take_char(p, '[')) {
		if (!take_reg(p, &o->reg))
			return false;
		if (take_char(p, ',')) {
			skip_note_blanks(p);
			take_char(p, '#');
			if (!take_number(p, &o->n))
				return false;
		}
		return take_char(p, ']') && set_operand_place(o, FRBPF_SDT_MEM);
	}
	if (isalpha((unsigned char)**p))
		return take_reg(p, &o->reg) && set_operand_place(o, FRBPF_SDT_REG);
	take_char(p, '#');
	return take_number(p, &o->n) && set_operand_place(o, FRBPF_SDT_CONST);
}

#endif

static bool take_note_arg(const char **p, struct operand *ret)
{
	struct operand o = { .kind = FRBPF_SDT_NONE };

	if (!take_size(p, &o) || !take_note_operand(p, &o) || (**p && **p != ' '))
		return false;
	*ret = o;
	return true;
}

int usdt_args__parse(const char *args, struct frbpf_usdt_place *ret, const char **ret_bad)
{
	struct frbpf_usdt_place place = { 0 };
	const char *p = args, *begin;
	struct operand o;

	for (int i = 0; i < FRBPF_MAX_ARGS; i++) {
		skip_note_blanks(&p);
		if (!*p)
			break;
		begin = p;
		if (!take_note_arg(&p, &o)) {
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

#if defined(__x86_64__)
#define REGS_SIZE sizeof(struct pt_regs)
#elif defined(__aarch64__)
#define REGS_SIZE sizeof(struct user_pt_regs)
#endif

bool usdt_place__is_valid(const struct frbpf_usdt_place *place)
{
	if (place->n_args > FRBPF_MAX_ARGS)
		return false;
	for (int i = 0; i < FRBPF_MAX_ARGS; i++) {
		const struct frbpf_usdt_arg *a = &place->arg[i];

		if (a->kind > FRBPF_SDT_MEM || a->is_signed > 1 ||
		    (a->cut && a->cut != 32 && a->cut != 48 && a->cut != 56) ||
		    a->reg % sizeof(uint64_t) || a->reg > REGS_SIZE - sizeof(uint64_t) ||
		    (a->kind == FRBPF_SDT_MEM && a->value != (int32_t)a->value))
			return false;
	}
	return true;
}
