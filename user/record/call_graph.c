// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"
#include "record/call_graph.h"

#define BRANCH_PRIV (1ULL << 18) /* PERF_SAMPLE_BRANCH_PRIV_SAVE, Linux 6.1 */

#define BRANCH_LEVELS (PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV)

static const struct {
	const char *name;
	uint64_t bits;
} branch_words[] = {
	{ "u", PERF_SAMPLE_BRANCH_USER },
	{ "k", PERF_SAMPLE_BRANCH_KERNEL },
	{ "hv", PERF_SAMPLE_BRANCH_HV },
	{ "any", PERF_SAMPLE_BRANCH_ANY },
	{ "any_call", PERF_SAMPLE_BRANCH_ANY_CALL },
	{ "any_ret", PERF_SAMPLE_BRANCH_ANY_RETURN },
	{ "ind_call", PERF_SAMPLE_BRANCH_IND_CALL },
	{ "abort_tx", PERF_SAMPLE_BRANCH_ABORT_TX },
	{ "in_tx", PERF_SAMPLE_BRANCH_IN_TX },
	{ "no_tx", PERF_SAMPLE_BRANCH_NO_TX },
	{ "cond", PERF_SAMPLE_BRANCH_COND },
	{ "ind_jmp", PERF_SAMPLE_BRANCH_IND_JUMP },
	{ "call", PERF_SAMPLE_BRANCH_CALL },
	{ "no_flags", PERF_SAMPLE_BRANCH_NO_FLAGS },
	{ "no_cycles", PERF_SAMPLE_BRANCH_NO_CYCLES },
	{ "save_type", PERF_SAMPLE_BRANCH_TYPE_SAVE },
	{ "stack", PERF_SAMPLE_BRANCH_CALL_STACK },
	{ "priv", BRANCH_PRIV },
	{ "hw_index", PERF_SAMPLE_BRANCH_HW_INDEX }, /* a word of later versions */
};

enum call_graph call_graph__find(const char *s, size_t len)
{
	static const struct {
		const char *name;
		enum call_graph mode;
	} modes[] = { { "fp", CALL_GRAPH_FP },
		      { "dwarf", CALL_GRAPH_DWARF },
		      { "lbr", CALL_GRAPH_LBR } };

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		if (strlen(modes[i].name) == len && !memcmp(s, modes[i].name, len))
			return modes[i].mode;
	}
	return CALL_GRAPH_NONE;
}

int call_graph__round_stack(uint64_t *bytes)
{
	if (*bytes > CALL_GRAPH_STACK_MAX)
		return -ERANGE;
	*bytes = (*bytes + 7) & ~7ULL;
	return 0;
}

int call_graph__branch_types(const char *s, size_t len, uint64_t *ret, struct part_span *ret_bad)
{
	uint64_t bits = 0;
	size_t n;

	for (size_t off = 0; off <= len; off += n + 1) {
		size_t i = 0;

		for (n = 0; off + n < len && s[off + n] != ',';)
			n++;
		while (i < ARRAY_SIZE(branch_words) &&
		       (strncasecmp(s + off, branch_words[i].name, n) ||
			strlen(branch_words[i].name) != n))
			i++;
		if (!n || i == ARRAY_SIZE(branch_words)) {
			*ret_bad = (struct part_span){ off, n };
			return -EINVAL;
		}
		bits |= branch_words[i].bits;
	}
	*ret = bits & ~(uint64_t)BRANCH_LEVELS ? bits : bits | PERF_SAMPLE_BRANCH_ANY;
	return 0;
}

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
