// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"
#include "record/registers.h"

static const struct {
	const char *name;
	unsigned int bit;
} registers[] = {
#if defined(__x86_64__)
	{ "AX", 0 },	 { "BX", 1 },	  { "CX", 2 },	   { "DX", 3 },	    { "SI", 4 },
	{ "DI", 5 },	 { "BP", 6 },	  { "SP", 7 },	   { "IP", 8 },	    { "FLAGS", 9 },
	{ "CS", 10 },	 { "SS", 11 },	  { "R8", 16 },	   { "R9", 17 },    { "R10", 18 },
	{ "R11", 19 },	 { "R12", 20 },	  { "R13", 21 },   { "R14", 22 },   { "R15", 23 },
	{ "XMM0", 32 },	 { "XMM1", 34 },  { "XMM2", 36 },  { "XMM3", 38 },  { "XMM4", 40 },
	{ "XMM5", 42 },	 { "XMM6", 44 },  { "XMM7", 46 },  { "XMM8", 48 },  { "XMM9", 50 },
	{ "XMM10", 52 }, { "XMM11", 54 }, { "XMM12", 56 }, { "XMM13", 58 }, { "XMM14", 60 },
	{ "XMM15", 62 },
#elif defined(__aarch64__)
	{ "x0", 0 },   { "x1", 1 },   { "x2", 2 },   { "x3", 3 },   { "x4", 4 },   { "x5", 5 },
	{ "x6", 6 },   { "x7", 7 },   { "x8", 8 },   { "x9", 9 },   { "x10", 10 }, { "x11", 11 },
	{ "x12", 12 }, { "x13", 13 }, { "x14", 14 }, { "x15", 15 }, { "x16", 16 }, { "x17", 17 },
	{ "x18", 18 }, { "x19", 19 }, { "x20", 20 }, { "x21", 21 }, { "x22", 22 }, { "x23", 23 },
	{ "x24", 24 }, { "x25", 25 }, { "x26", 26 }, { "x27", 27 }, { "x28", 28 }, { "x29", 29 },
	{ "lr", 30 },  { "sp", 31 },  { "pc", 32 },
#else
	{ "", 0 },
#endif
};

/* A register of 128 bits has two bits in the mask. */
static uint64_t register_bits(const char *name, unsigned int bit)
{
	return (!strncmp(name, "XMM", 3) ? 3ULL : 1ULL) << bit;
}

int registers__parse(const char *s, size_t len, uint64_t *ret, struct part_span *ret_bad)
{
	uint64_t mask = 0;
	size_t n;

	for (size_t off = 0; off <= len; off += n + 1) {
		size_t i = 0;

		n = strcspn(s + off, ",");
		while (i < ARRAY_SIZE(registers) && (strncasecmp(s + off, registers[i].name, n) ||
						     strlen(registers[i].name) != n))
			i++;
		if (!n || i == ARRAY_SIZE(registers)) {
			*ret_bad = (struct part_span){ off, n };
			return -EINVAL;
		}
		mask |= register_bits(registers[i].name, registers[i].bit);
	}
	*ret = mask;
	return 0;
}
