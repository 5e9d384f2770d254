// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#if defined(__x86_64__)
#include <Zydis/Zydis.h>
#endif

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
	} else if (w >> 26 == 5) { /* b */
		ret->kind = INSN_JUMP;
		ret->target = (int64_t)(int32_t)(w << 6) >> 4;
	} else if ((w & 0xff000000) == 0x54000000) { /* b.cond */
		ret->kind = INSN_JUMP;
		ret->target = (int64_t)((int32_t)(w << 8) >> 13) * 4;
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
	} else if (z.meta.category == ZYDIS_CATEGORY_COND_BR ||
		   z.meta.category == ZYDIS_CATEGORY_UNCOND_BR) {
		ret->kind = z.raw.imm[0].is_relative ? INSN_JUMP : INSN_INDIRECT;
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

static bool is_within(const struct func_part *parts, size_t n, uint64_t addr)
{
	for (size_t i = 0; i < n; i++) {
		if (addr - parts[i].addr < parts[i].size)
			return true;
	}
	return false;
}

static int look_at_part(int machine, const struct func_part *part, const struct func_part *parts,
			size_t n_parts, struct func_exits *ret)
{
	for (uint64_t at = 0; at < part->size;) {
		struct insn insn;

		if (insn__decode(machine, part->code + at, part->size - at, &insn))
			return -EILSEQ;
		if (insn.kind == INSN_JUMP &&
		    !is_within(parts, n_parts, part->addr + at + insn.target) && !ret->jumps++)
			ret->jump_to = part->addr + at + insn.target;
		ret->indirect += insn.kind == INSN_INDIRECT;
		if (insn.kind == INSN_RETURN) {
			if (ret->n == FUNC_EXITS_MAX)
				return -E2BIG;
			ret->at[ret->n++] = part->addr + at;
		}
		at += insn.len;
	}
	return 0;
}

int func_exits__find(int machine, const struct func_part *parts, size_t n_parts,
		     struct func_exits *ret)
{
	struct func_exits found = { .n = 0 };
	int err = 0;

	for (size_t i = 0; i < n_parts && !err; i++)
		err = look_at_part(machine, &parts[i], parts, n_parts, &found);
	if (!err)
		*ret = found;
	return err;
}

int func_exits__check_boundary(int machine, const uint8_t *code, size_t size, uint64_t offset)
{
	uint64_t at = 0;

	while (at < offset) {
		struct insn insn;

		if (at >= size || insn__decode(machine, code + at, size - at, &insn))
			return -EILSEQ;
		at += insn.len;
	}
	return at == offset ? 0 : -EINVAL;
}
