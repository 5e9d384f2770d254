// SPDX-License-Identifier: GPL-2.0-only
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/elf_copy.h"
#include "symbols/cfi.h"
#include "symbols/elf_symbols.h"

#define EXPRESSION_DEPTH 16
#define EXPRESSION_OPS	 64

struct cfi {
	int fd; /* the copy that libelf maps */
	Elf *elf;
	Dwarf_CFI *cfi;
	unsigned int machine;
	struct elf_symbols segments; /* only the segments are used */
};

static int cfi__read(struct cfi *c)
{
	GElf_Ehdr head;

	elf_version(EV_CURRENT);
	/* mmap: libelf leaks memory if it reads a damaged file. Nobody can truncate the copy */
	c->elf = elf_begin(c->fd, ELF_C_READ_MMAP, NULL);
	if (!c->elf || elf_kind(c->elf) != ELF_K_ELF || !gelf_getehdr(c->elf, &head))
		return -ENOEXEC;
	c->machine = head.e_machine;
	if (elf_symbols__read_segments(c->elf, &c->segments))
		return -ENOEXEC;
	c->cfi = dwarf_getcfi_elf(c->elf);
	return c->cfi ? 0 : -ENOENT;
}

int cfi__open(int fd, struct cfi **ret)
{
	struct cfi *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	c->fd = -1;
	err = elf_copy__make(fd, ELF_COPY_UNWIND, &c->fd);
	err = err ?: cfi__read(c);
	if (err) {
		cfi__free(c);
		return err;
	}
	*ret = c;
	return 0;
}

void cfi__free(struct cfi *c)
{
	if (!c)
		return;
	if (c->cfi)
		dwarf_cfi_end(c->cfi);
	elf_end(c->elf);
	if (c->fd >= 0)
		close(c->fd);
	free(c);
}

unsigned int cfi__machine(const struct cfi *c)
{
	return c->machine;
}

static bool cfi_stack__read(const struct cfi_stack *s, uint64_t addr, uint64_t *ret)
{
	if (addr < s->start || s->size < sizeof(*ret) || addr - s->start > s->size - sizeof(*ret))
		return false;
	memcpy(ret, (const char *)s->data + (addr - s->start), sizeof(*ret));
	return true;
}

/* A DWARF expression that is being evaluated. */
struct expression {
	const struct cfi_frame *frame;
	const struct cfi_stack *stack;
	bool has_cfa;
	uint64_t cfa;
	uint64_t v[EXPRESSION_DEPTH];
	size_t n;
	bool is_value; /* the result is the value itself, not its address */
	bool bad;
};

static void expression__push(struct expression *x, uint64_t v)
{
	if (x->n == EXPRESSION_DEPTH)
		x->bad = true;
	else
		x->v[x->n++] = v;
}

static uint64_t expression__pop(struct expression *x)
{
	if (!x->n) {
		x->bad = true;
		return 0;
	}
	return x->v[--x->n];
}

static void expression__push_register(struct expression *x, uint64_t reg, uint64_t offset)
{
	if (reg >= CFI_REGISTERS || !(x->frame->known & 1ULL << reg))
		x->bad = true;
	else
		expression__push(x, x->frame->regs[reg] + offset);
}

static uint64_t expression__apply(uint8_t atom, uint64_t a, uint64_t b, bool *ret_bad)
{
	switch (atom) {
	case DW_OP_plus:
		return a + b;
	case DW_OP_minus:
		return a - b;
	case DW_OP_mul:
		return a * b;
	case DW_OP_and:
		return a & b;
	case DW_OP_or:
		return a | b;
	case DW_OP_xor:
		return a ^ b;
	case DW_OP_shl:
		return b < 64 ? a << b : 0;
	case DW_OP_shr:
		return b < 64 ? a >> b : 0;
	case DW_OP_eq:
		return a == b;
	case DW_OP_ne:
		return a != b;
	case DW_OP_ge:
		return (int64_t)a >= (int64_t)b;
	case DW_OP_gt:
		return (int64_t)a > (int64_t)b;
	case DW_OP_le:
		return (int64_t)a <= (int64_t)b;
	case DW_OP_lt:
		return (int64_t)a < (int64_t)b;
	}
	*ret_bad = true;
	return 0;
}

/* Do one of the remaining operations: those that compilers write, and linkers for .plt. */
static void expression__do(struct expression *x, const Dwarf_Op *op)
{
	uint64_t a, b;

	switch (op->atom) {
	case DW_OP_call_frame_cfa:
		expression__push(x, x->cfa);
		x->bad |= !x->has_cfa;
		break;
	case DW_OP_bregx:
		expression__push_register(x, op->number, op->number2);
		break;
	case DW_OP_regx:
		expression__push_register(x, op->number, 0);
		x->is_value = true;
		break;
	case DW_OP_plus_uconst:
		expression__push(x, expression__pop(x) + op->number);
		break;
	case DW_OP_deref:
		x->bad |= !cfi_stack__read(x->stack, expression__pop(x), &a);
		expression__push(x, x->bad ? 0 : a);
		break;
	case DW_OP_dup:
		a = expression__pop(x);
		expression__push(x, a);
		expression__push(x, a);
		break;
	case DW_OP_drop:
		expression__pop(x);
		break;
	case DW_OP_stack_value:
		x->is_value = true;
		break;
	case DW_OP_nop:
		break;
	default:
		b = expression__pop(x);
		a = expression__pop(x);
		expression__push(x, expression__apply(op->atom, a, b, &x->bad));
	}
}

static bool expression__is_constant(const Dwarf_Op *op)
{
	switch (op->atom) {
	case DW_OP_addr:
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
		return true;
	}
	return false;
}

/* False: unknown operation or value. Branches are not supported: unwinding needs none. */
static bool expression__compute(struct expression *x, const Dwarf_Op *ops, size_t n, uint64_t *ret)
{
	if (!n || n > EXPRESSION_OPS)
		return false;
	for (size_t i = 0; i < n && !x->bad; i++) {
		const Dwarf_Op *op = &ops[i];

		if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
			expression__push(x, op->atom - DW_OP_lit0);
		} else if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
			expression__push_register(x, op->atom - DW_OP_breg0, op->number);
		} else if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) {
			expression__push_register(x, op->atom - DW_OP_reg0, 0);
			x->is_value = true;
		} else if (expression__is_constant(op)) {
			expression__push(x, op->number);
		} else {
			expression__do(x, op);
		}
	}
	*ret = expression__pop(x);
	return !x->bad;
}

static bool frame_cfa(Dwarf_Frame *d, const struct cfi_stack *stack, const struct cfi_frame *f,
		      uint64_t *ret)
{
	struct expression x = { .frame = f, .stack = stack };
	Dwarf_Op *ops;
	size_t n;

	return !dwarf_frame_cfa(d, &ops, &n) && expression__compute(&x, ops, n, ret);
}

/* Get register @reg of the caller; false: its value is lost. */
static bool frame_register(Dwarf_Frame *d, int reg, uint64_t cfa, const struct cfi_stack *stack,
			   const struct cfi_frame *f, uint64_t *ret)
{
	struct expression x = { .frame = f, .stack = stack, .has_cfa = true, .cfa = cfa };
	Dwarf_Op memory[3], *ops;
	uint64_t v;
	size_t n;

	if (dwarf_frame_register(d, reg, memory, &ops, &n))
		return false;
	if (!n && !ops && reg < CFI_REGISTERS) { /* unchanged */
		*ret = f->regs[reg];
		return f->known & 1ULL << reg;
	}
	if (!expression__compute(&x, ops, n, &v))
		return false;
	*ret = v;
	return x.is_value || cfi_stack__read(stack, v, ret);
}

/* DWARF's number of the stack pointer. */
static int stack_pointer(unsigned int machine)
{
	return machine == EM_AARCH64 ? 31 : 7;
}

int cfi__step(const struct cfi *c, uint64_t offset, const struct cfi_stack *stack,
	      struct cfi_frame *f)
{
	struct cfi_frame up = { 0 };
	Dwarf_Frame *d = NULL;
	uint64_t vaddr, cfa;
	int sp = stack_pointer(c->machine), ra, err = -ENODATA;

	if (!elf_symbols__vaddr(&c->segments, offset, &vaddr) ||
	    dwarf_cfi_addrframe(c->cfi, vaddr, &d))
		return -ENOENT;
	ra = dwarf_frame_info(d, NULL, NULL, &up.exact);
	if (ra >= 0 && frame_cfa(d, stack, f, &cfa) &&
	    frame_register(d, ra, cfa, stack, f, &up.pc)) {
		for (int r = 0; r < CFI_REGISTERS; r++) {
			if (r != ra && frame_register(d, r, cfa, stack, f, &up.regs[r]))
				up.known |= 1ULL << r;
		}
		/*
		 * the CFA is the caller's stack pointer; a caller equal to its callee ends the walk
		 */
		if (cfa != f->regs[sp] || up.pc != f->pc) {
			up.regs[sp] = cfa;
			up.known |= 1ULL << sp;
			err = 0;
		}
	}
	free(d);
	if (!err)
		*f = up;
	return err;
}
