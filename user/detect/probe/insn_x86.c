// SPDX-License-Identifier: GPL-2.0-only
/* Lengths of x86-64 instructions, and which of them leave a function (Intel SDM volume 2, chapter 2
 * and appendix A). */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "detect/probe/func_exits.h"

enum {
	M = 1,	      /* a ModRM byte */
	B = 2,	      /* 8 bits of immediate or displacement */
	W = 4,	      /* 16 */
	Z = 8,	      /* 32, with the prefix 0x66 16 */
	D = 16,	      /* 32, always: a displacement of jumps and calls */
	BAD = 32,     /* no instruction of 64-bit mode */
	SPECIAL = 64, /* see one_byte() */
	MB = M | B,
	MZ = M | Z,
	WB = W | B,
	S = SPECIAL,
	X = BAD,
};

// clang-format off
/* Opcodes of one byte. */
static const uint8_t map_one[256] = {
	M, M, M, M, B, Z, X, X, M, M, M, M, B, Z, X, S, /* 00 */
	M, M, M, M, B, Z, X, X, M, M, M, M, B, Z, X, X, /* 10 */
	M, M, M, M, B, Z, S, X, M, M, M, M, B, Z, S, X, /* 20 */
	M, M, M, M, B, Z, S, X, M, M, M, M, B, Z, S, X, /* 30 */
	S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, /* 40 */
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* 50 */
	X, X, S, M, S, S, S, S, Z, MZ, B, MB, 0, 0, 0, 0, /* 60 */
	B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, /* 70 */
	MB, MZ, X, MB, M, M, M, M, M, M, M, M, M, M, M, S, /* 80 */
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, X, 0, 0, 0, 0, 0, /* 90 */
	S, S, S, S, 0, 0, 0, 0, B, Z, 0, 0, 0, 0, 0, 0, /* a0 */
	B, B, B, B, B, B, B, B, S, S, S, S, S, S, S, S, /* b0 */
	MB, MB, W, 0, S, S, MB, MZ, WB, 0, W, 0, 0, B, X, 0, /* c0 */
	M, M, M, M, X, X, X, 0, M, M, M, M, M, M, M, M, /* d0 */
	B, B, B, B, B, B, B, B, D, D, X, B, 0, 0, 0, 0, /* e0 */
	S, 0, S, S, 0, 0, S, S, 0, 0, 0, 0, 0, 0, M, M, /* f0 */
};

/* Those behind 0x0f. */
static const uint8_t map_two[256] = {
	M, M, M, M, X, 0, 0, 0, 0, 0, X, 0, X, M, 0, MB, /* 00 */
	M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, /* 10 */
	M, M, M, M, X, X, X, X, M, M, M, M, M, M, M, M, /* 20 */
	0, 0, 0, 0, 0, 0, X, 0, S, X, S, X, X, X, X, X, /* 30 */
	M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, /* 40 */
	M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, /* 50 */
	M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, /* 60 */
	MB, MB, MB, MB, M, M, M, 0, M, M, X, X, M, M, M, M, /* 70 */
	D, D, D, D, D, D, D, D, D, D, D, D, D, D, D, D, /* 80 */
	M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, /* 90 */
	0, 0, 0, M, MB, M, X, X, 0, 0, 0, M, MB, M, M, M, /* a0 */
	M, M, M, M, M, M, M, M, M, M, MB, M, M, M, M, M, /* b0 */
	M, M, MB, M, MB, MB, MB, M, 0, 0, 0, 0, 0, 0, 0, 0, /* c0 */
	M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, /* d0 */
	M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, /* e0 */
	M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, /* f0 */
};
// clang-format on

/* An instruction being read. */
struct decoder {
	const uint8_t *code;
	size_t size, pos;
	bool operand16, address32, wide; /* 0x66, 0x67, REX.W */
	bool short_of;			 /* bytes are missing */
};

static uint8_t take(struct decoder *d)
{
	if (d->pos < d->size)
		return d->code[d->pos++];
	d->short_of = true;
	return 0;
}

static void skip(struct decoder *d, size_t n)
{
	if (n > d->size - d->pos)
		d->short_of = true;
	else
		d->pos += n;
}

/* With what it says of an address. */
static uint8_t take_modrm(struct decoder *d)
{
	uint8_t modrm = take(d), mod = modrm >> 6, rm = modrm & 7;

	if (mod == 3)
		return modrm;
	if (rm == 4 && (take(d) & 7) == 5 && !mod)
		skip(d, 4);
	if (mod == 1)
		skip(d, 1);
	else if (mod == 2 || (!mod && rm == 5))
		skip(d, 4);
	return modrm;
}

static void take_operands(struct decoder *d, uint8_t what)
{
	if (what & M)
		take_modrm(d);
	skip(d, (what & B ? 1 : 0) + (what & W ? 2 : 0) + (what & D ? 4 : 0) +
			(what & Z ? (d->operand16 ? 2 : 4) : 0));
}

static int64_t signed_at(const struct decoder *d, size_t bytes)
{
	int32_t four;

	if (d->short_of || d->pos < bytes)
		return 0;
	if (bytes == 1)
		return (int8_t)d->code[d->pos - 1];
	memcpy(&four, d->code + d->pos - 4, 4);
	return four;
}

static void jump(struct decoder *d, size_t bytes, struct insn *ret)
{
	ret->kind = INSN_JUMP;
	ret->target = signed_at(d, bytes) + (int64_t)d->pos;
}

/* Opcodes of the vector extensions: behind VEX, EVEX and XOP prefixes. */
static int vector(struct decoder *d, uint8_t map)
{
	uint8_t op = take(d), two = map_two[op];

	if (map == 1 && op == 0x77)
		return 0; /* vzeroupper */
	if (!map || map == 4 || map == 7 || map > 10)
		return -EILSEQ;
	take_modrm(d);
	if (map == 3 || map == 8 ||
	    (map == 1 && two == MB && op >= 0x70 && op != 0xa4 && op != 0xac))
		skip(d, 1);
	else if (map == 10)
		skip(d, 4);
	return 0;
}

static int two_bytes(struct decoder *d, bool repeat, struct insn *ret)
{
	uint8_t op = take(d), what = map_two[op];

	if (what == BAD)
		return -EILSEQ;
	if (what == SPECIAL) { /* 0x38 and 0x3a: opcodes of three bytes */
		take(d);
		take_modrm(d);
		skip(d, op == 0x3a);
		return 0;
	}
	take_operands(d, what);
	if (op == 0x78 && (d->operand16 || repeat))
		skip(d, 2); /* extrq, insertq */
	if (what == D)
		jump(d, 4, ret);
	return 0;
}

/* Those that the table does not tell all of. */
static int special(struct decoder *d, uint8_t op, bool repeat, struct insn *ret)
{
	uint8_t modrm, map;

	switch (op) {
	case 0x0f:
		return two_bytes(d, repeat, ret);
	case 0x62:
		map = take(d) & 7;
		skip(d, 2);
		return vector(d, map);
	case 0x8f:
		map = d->pos < d->size ? d->code[d->pos] & 31 : 0;
		if (map < 8) {
			take_modrm(d);
			return 0;
		}
		skip(d, 2);
		return vector(d, map);
	case 0xa0 ... 0xa3:
		skip(d, d->address32 ? 4 : 8);
		return 0;
	case 0xb8 ... 0xbf:
		skip(d, d->wide ? 8 : d->operand16 ? 2 : 4);
		return 0;
	case 0xc4:
		map = take(d) & 31;
		skip(d, 1);
		return vector(d, map);
	case 0xc5:
		skip(d, 1);
		return vector(d, 1);
	case 0xf6:
	case 0xf7:
		modrm = take_modrm(d);
		if ((modrm >> 3 & 7) < 2)
			take_operands(d, op == 0xf6 ? B : Z);
		return 0;
	}
	return -EILSEQ;
}

static int one_byte(struct decoder *d, uint8_t op, bool repeat, struct insn *ret)
{
	uint8_t what = map_one[op], modrm;

	if (what == BAD)
		return -EILSEQ;
	if (what == SPECIAL)
		return special(d, op, repeat, ret);
	modrm = d->pos < d->size ? d->code[d->pos] : 0;
	take_operands(d, what);
	if (op == 0xc3 || op == 0xc2)
		ret->kind = INSN_RETURN;
	else if ((op >= 0x70 && op <= 0x7f) || (op >= 0xe0 && op <= 0xe3) || op == 0xeb)
		jump(d, 1, ret);
	else if (op == 0xe9)
		jump(d, 4, ret);
	else if (op == 0xff && (modrm >> 3 & 7) == 4)
		ret->kind = INSN_INDIRECT;
	return 0;
}

static bool take_prefix(struct decoder *d, uint8_t op, bool *repeat)
{
	switch (op) {
	case 0x66:
		d->operand16 = true;
		return true;
	case 0x67:
		d->address32 = true;
		return true;
	case 0xf2:
	case 0xf3:
		*repeat = *repeat || op == 0xf2;
		return true;
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64:
	case 0x65:
	case 0xf0:
		return true;
	}
	return false;
}

int insn__decode_x86(const uint8_t *code, size_t size, struct insn *ret)
{
	struct decoder d = { .code = code, .size = size < 15 ? size : 15 };
	struct insn insn = { .kind = INSN_OTHER };
	bool repeat = false;
	uint8_t op = take(&d);
	int err;

	while (!d.short_of && take_prefix(&d, op, &repeat))
		op = take(&d);
	if ((op & 0xf0) == 0x40) { /* REX */
		d.wide = op & 8;
		op = take(&d);
		if (d.wide)
			d.operand16 = false;
	}
	if (d.short_of)
		return -EILSEQ;
	err = one_byte(&d, op, repeat, &insn);
	if (err || d.short_of)
		return -EILSEQ;
	insn.len = d.pos;
	*ret = insn;
	return 0;
}
