// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <Zydis/Zydis.h>
#endif

#include "common/array.h"
#include "examine/probe/func_exits.h"

/* Branches: Arm Architecture Reference Manual, section C4.1. */
static int decode_arm64(const uint8_t *code, size_t size, struct insn *ret)
{
	uint32_t w;

	if (size < sizeof(w))
		return -EILSEQ;
	memcpy(&w, code, sizeof(w));
	*ret = (struct insn){ .kind = INSN_OTHER, .len = sizeof(w) };
	if ((w & 0xfffffc1f) == 0xd65f0000 || w == 0xd65f0bff || w == 0xd65f0fff) {
		ret->kind = INSN_RETURN; /* ret, retaa, retab */
	} else if ((w & 0xfffff81f) == 0xd61f0800 || (w & 0xfffffc1f) == 0xd61f0000) {
		ret->kind = INSN_INDIRECT;
	} else if (w >> 16 == 0) {
		ret->kind = INSN_STOP; /* udf */
	} else if (w >> 26 == 0x25) {
		ret->kind = INSN_CALL; /* bl */
		ret->target = (int64_t)(int32_t)(w << 6) >> 4;
	} else if (w >> 26 == 5) { /* b */
		ret->kind = INSN_JUMP;
		ret->always = true;
		ret->target = (int64_t)(int32_t)(w << 6) >> 4;
	} else if ((w & 0xff000000) == 0x54000000 || (w & 0x7e000000) == 0x34000000) {
		ret->kind = INSN_JUMP; /* b.cond, cbz, cbnz */
		ret->target = (int64_t)((int32_t)(w << 8) >> 13) * 4;
	} else if ((w & 0x7e000000) == 0x36000000) { /* tbz, tbnz */
		ret->kind = INSN_JUMP;
		ret->target = (int64_t)((int32_t)(w << 13) >> 18) * 4;
	}
	return 0;
}

#if defined(__x86_64__)
static int decode_x86(const uint8_t *code, size_t size, struct insn *ret)
{
	ZydisDecodedInstruction z;
	ZydisDecoder decoder;

	if (!ZYAN_SUCCESS(
		    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, code, size, &z)))
		return -EILSEQ;
	*ret = (struct insn){ .kind = INSN_OTHER, .len = z.length };
	if (z.meta.category == ZYDIS_CATEGORY_RET) {
		if (z.meta.branch_type == ZYDIS_BRANCH_TYPE_NEAR)
			ret->kind = INSN_RETURN;
	} else if (z.mnemonic == ZYDIS_MNEMONIC_UD2 || z.mnemonic == ZYDIS_MNEMONIC_HLT) {
		ret->kind = INSN_STOP;
	} else if (z.meta.category == ZYDIS_CATEGORY_CALL && z.raw.imm[0].is_relative) {
		ret->kind = INSN_CALL;
		ret->target = z.length + z.raw.imm[0].value.s;
	} else if (z.meta.category == ZYDIS_CATEGORY_COND_BR ||
		   z.meta.category == ZYDIS_CATEGORY_UNCOND_BR) {
		ret->kind = z.raw.imm[0].is_relative ? INSN_JUMP : INSN_INDIRECT;
		ret->always = z.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
		ret->target = z.raw.imm[0].is_relative ? z.length + z.raw.imm[0].value.s : 0;
	}
	return 0;
}
#else
static int decode_x86(const uint8_t *code, size_t size, struct insn *ret)
{
	return -EILSEQ; /* only programs of this machine are decoded */
}
#endif

int insn__decode(int machine, const uint8_t *code, size_t size, struct insn *ret)
{
	return machine == EM_AARCH64 ? decode_arm64(code, size, ret) : decode_x86(code, size, ret);
}

/*
 * Do the bytes of a return instruction begin anywhere in @code, perhaps in the middle of another
 * one?
 */
static bool may_return(int machine, const uint8_t *code, size_t size)
{
	for (size_t at = 0; at < size; at += machine == EM_AARCH64 ? 4 : 1) {
		struct insn insn;

		if (!insn__decode(machine, code + at, size - at, &insn) && insn.kind == INSN_RETURN)
			return true;
	}
	return false;
}

/* ---- code that can be reached ---- */

enum {
	REACHED = 1, /* an instruction begins here */
	COVERED = 2, /* this byte belongs to one */
	QUEUED = 4,
	CLASH = 8, /* it belongs to two that overlap: one of them is not an instruction */
};

struct flow {
	int machine;
	const struct func_part *parts;
	size_t n_parts;
	uint8_t **map; /* of each part, for each byte */
	uint64_t *todo;
	size_t n_todo, cap;
	struct func_exits found;
};

/* The part that has @addr; flow->n_parts: none. */
static size_t flow__part(const struct flow *f, uint64_t addr)
{
	size_t i = 0;

	while (i < f->n_parts && addr - f->parts[i].addr >= f->parts[i].size)
		i++;
	return i;
}

static int flow__add_exit(struct flow *f, uint64_t addr)
{
	if (f->found.n == FUNC_EXITS_MAX)
		return -E2BIG;
	f->found.at[f->found.n++] = addr;
	return 0;
}

static void flow__add_jump(struct flow *f, uint64_t to)
{
	if (flow__part(f, to) == f->n_parts && !f->found.jumps++)
		f->found.jump_to = to;
}

static int flow__queue(struct flow *f, uint64_t addr)
{
	size_t i = flow__part(f, addr);
	uint8_t *at;

	if (i == f->n_parts) {
		flow__add_jump(f, addr);
		return 0;
	}
	at = &f->map[i][addr - f->parts[i].addr];
	if (*at & (QUEUED | REACHED))
		return 0;
	if (!ARRAY_HAS_ROOM(f->todo, f->n_todo, f->cap, 64))
		return -ENOMEM;
	*at |= QUEUED;
	f->todo[f->n_todo++] = addr;
	return 0;
}

static void flow__mark(uint8_t *map, uint32_t len)
{
	for (uint32_t k = 0; k < len; k++)
		map[k] |= COVERED | (map[k] & COVERED ? CLASH : 0);
	map[0] |= REACHED;
}

/*
 * Note where the instruction at @addr leads, apart from the instruction after it. If a call leads
 * into the middle of the same function, data follow the call, or there is a function inside.
 */
static int flow__leave(struct flow *f, uint64_t addr, const struct insn *insn)
{
	const uint64_t to = addr + insn->target;

	if (insn->kind == INSN_RETURN)
		return flow__add_exit(f, addr);
	if (insn->kind == INSN_JUMP)
		return flow__queue(f, to);
	f->found.indirect += insn->kind == INSN_INDIRECT;
	return insn->kind == INSN_CALL && to != f->parts[0].addr && flow__part(f, to) < f->n_parts
		       ? -EBADMSG
		       : 0;
}

static bool insn_is_last(const struct insn *insn)
{
	return insn->kind == INSN_RETURN || insn->kind == INSN_INDIRECT ||
	       insn->kind == INSN_STOP || (insn->kind == INSN_JUMP && insn->always);
}

/* Follow the instructions from @addr on, until one that does not lead to the next. */
static int flow__follow(struct flow *f, uint64_t addr)
{
	const size_t i = flow__part(f, addr);
	const struct func_part *part = &f->parts[i];
	uint64_t at = addr - part->addr;
	int err = 0;

	while (!err && at < part->size && !(f->map[i][at] & REACHED)) {
		struct insn insn;

		if (insn__decode(f->machine, part->code + at, part->size - at, &insn))
			return -EILSEQ;
		flow__mark(f->map[i] + at, insn.len);
		err = flow__leave(f, part->addr + at, &insn);
		if (insn_is_last(&insn))
			break;
		at += insn.len;
	}
	return err;
}

/* Does an instruction begin at @addr? 0: yes, -EINVAL: no, -EBADMSG: unknown. */
static int flow__check(const struct flow *f, uint64_t addr)
{
	const size_t i = flow__part(f, addr);
	const struct func_part *part = &f->parts[i];
	const uint64_t at = addr - part->addr;
	const uint8_t *map = f->map[i] + at;
	struct insn insn;

	if (!(*map & REACHED))
		return *map & COVERED ? -EINVAL : -EBADMSG;
	if (insn__decode(f->machine, part->code + at, part->size - at, &insn))
		return -EILSEQ;
	for (uint32_t k = 0; k < insn.len; k++)
		if (map[k] & CLASH)
			return -EBADMSG;
	return 0;
}

/*
 * Look at bytes from @from to @to that nothing leads to directly. They are targets of indirect
 * jumps, handlers of exceptions, or data. It is unknown which, and a probe would change data.
 * -EBADMSG: they may contain a return instruction.
 */
static int flow__look_at_gap(struct flow *f, size_t i, uint64_t from, uint64_t to)
{
	const struct func_part *part = &f->parts[i];
	struct insn insn;

	for (uint64_t at = from; at < to; at += insn.len) {
		/* data: a return may begin at any byte */
		if (insn__decode(f->machine, part->code + at, to - at, &insn))
			return may_return(f->machine, part->code + from, to - from) ? -EBADMSG : 0;
		if (insn.kind == INSN_RETURN)
			return -EBADMSG;
		if (insn.kind == INSN_JUMP)
			flow__add_jump(f, part->addr + at + insn.target);
	}
	return 0;
}

static int flow__look_at_gaps(struct flow *f, size_t i)
{
	const uint64_t size = f->parts[i].size;
	int err = 0;

	for (uint64_t at = 0, end; at < size && !err; at = end) {
		for (end = at + 1;
		     end < size && !(f->map[i][end] & COVERED) == !(f->map[i][at] & COVERED);)
			end++;
		if (!(f->map[i][at] & COVERED))
			err = flow__look_at_gap(f, i, at, end);
	}
	return err;
}

/* Find all that the first instruction leads to. */
static int flow__run(struct flow *f)
{
	int err;

	f->map = calloc(f->n_parts, sizeof(*f->map));
	err = f->map ? 0 : -ENOMEM;
	for (size_t i = 0; i < f->n_parts && !err; i++) {
		f->map[i] = calloc(1, f->parts[i].size + !f->parts[i].size);
		err = f->map[i] ? 0 : -ENOMEM;
	}
	err = err ?: flow__queue(f, f->parts[0].addr);
	while (f->n_todo && !err)
		err = flow__follow(f, f->todo[--f->n_todo]);
	return err;
}

static void flow__free(struct flow *f)
{
	for (size_t i = 0; i < f->n_parts && f->map; i++)
		free(f->map[i]);
	free(f->map);
	free(f->todo);
}

static int compare_addrs(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int func_exits__find(int machine, const struct func_part *parts, size_t n_parts, bool hidden,
		     struct func_exits *ret)
{
	struct flow f = { .machine = machine, .parts = parts, .n_parts = n_parts };
	int err = flow__run(&f);

	for (size_t i = 0; i < n_parts && !err && (hidden || f.found.indirect); i++)
		err = flow__look_at_gaps(&f, i);
	for (uint32_t i = 0; i < f.found.n && !err; i++)
		err = flow__check(&f, f.found.at[i]);
	if (!err) {
		qsort(f.found.at, f.found.n, sizeof(*f.found.at), compare_addrs);
		*ret = f.found;
	}
	flow__free(&f);
	return err;
}

int func_exits__check_boundary(int machine, const struct func_part *part, uint64_t offset)
{
	struct flow f = { .machine = machine, .parts = part, .n_parts = 1 };
	int err = flow__run(&f);

	/* too many exits: some code was not followed, so the answer would be uncertain */
	err = err == -E2BIG ? -EBADMSG : err;
	err = err ?: flow__check(&f, part->addr + offset);
	flow__free(&f);
	return err;
}
