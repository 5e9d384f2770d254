// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/nearest_word.h"
#include "record/event_names.h"
#include "rules/diag.h"

#define HW(name, config, meaning)                                                                  \
	{                                                                                          \
		name, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##config, meaning                          \
	}
#define SW(name, config, meaning)                                                                  \
	{                                                                                          \
		name, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##config, meaning                          \
	}

const struct event_name event_names[] = {
	HW("cpu-cycles", CPU_CYCLES, "cycles of the CPU, at its present frequency"),
	HW("cycles", CPU_CYCLES, "the same as cpu-cycles"),
	HW("instructions", INSTRUCTIONS, "instructions retired"),
	HW("cache-references", CACHE_REFERENCES, "accesses to the last level cache"),
	HW("cache-misses", CACHE_MISSES, "misses of the last level cache"),
	HW("branch-instructions", BRANCH_INSTRUCTIONS, "branches retired"),
	HW("branches", BRANCH_INSTRUCTIONS, "the same as branch-instructions"),
	HW("branch-misses", BRANCH_MISSES, "branches predicted wrongly"),
	HW("bus-cycles", BUS_CYCLES, "cycles of the bus"),
	HW("ref-cycles", REF_CPU_CYCLES, "cycles at the nominal frequency"),
	HW("stalled-cycles-frontend", STALLED_CYCLES_FRONTEND,
	   "cycles in which nothing was issued"),
	HW("idle-cycles-frontend", STALLED_CYCLES_FRONTEND, "the same as stalled-cycles-frontend"),
	HW("stalled-cycles-backend", STALLED_CYCLES_BACKEND, "cycles in which nothing was retired"),
	HW("idle-cycles-backend", STALLED_CYCLES_BACKEND, "the same as stalled-cycles-backend"),
	SW("cpu-clock", CPU_CLOCK, "a timer per CPU: what it runs, idle included"),
	SW("task-clock", TASK_CLOCK, "a timer that counts while a task runs"),
	SW("page-faults", PAGE_FAULTS, "page faults"),
	SW("faults", PAGE_FAULTS, "the same as page-faults"),
	SW("minor-faults", PAGE_FAULTS_MIN, "page faults served without the disk"),
	SW("major-faults", PAGE_FAULTS_MAJ, "page faults that waited for the disk"),
	SW("context-switches", CONTEXT_SWITCHES, "switches from one task to another"),
	SW("cs", CONTEXT_SWITCHES, "the same as context-switches"),
	SW("cpu-migrations", CPU_MIGRATIONS, "tasks moved to another CPU"),
	SW("migrations", CPU_MIGRATIONS, "the same as cpu-migrations"),
	SW("alignment-faults", ALIGNMENT_FAULTS, "unaligned accesses that the kernel mended"),
	SW("emulation-faults", EMULATION_FAULTS, "instructions that the kernel emulated"),
	SW("duration_time", DUMMY, "counts nothing: a tool event of perf stat"),
	SW("user_time", DUMMY, "counts nothing: a tool event of perf stat"),
	SW("system_time", DUMMY, "counts nothing: a tool event of perf stat"),
	SW("dummy", DUMMY, "nothing: carries records about tasks and mappings"),
	SW("bpf-output", BPF_OUTPUT, "data that a BPF program sends"),
	SW("cgroup-switches", CGROUP_SWITCHES, "switches to a task of another cgroup"),
	{ NULL },
};

enum { MAX_ALIASES = 5 };

enum {
	READ = 1 << PERF_COUNT_HW_CACHE_OP_READ,
	WRITE = 1 << PERF_COUNT_HW_CACHE_OP_WRITE,
	PREFETCH = 1 << PERF_COUNT_HW_CACHE_OP_PREFETCH,
};

/* Spellings and legal operations, as in tools/perf/util/evsel.c. */
static const struct {
	const char *names[MAX_ALIASES + 1];
	unsigned int ops;
} caches[] = {
	[PERF_COUNT_HW_CACHE_L1D] = { { "L1-dcache", "l1-d", "l1d", "L1-data" },
				      READ | WRITE | PREFETCH },
	[PERF_COUNT_HW_CACHE_L1I] = { { "L1-icache", "l1-i", "l1i", "L1-instruction" },
				      READ | PREFETCH },
	[PERF_COUNT_HW_CACHE_LL] = { { "LLC", "L2" }, READ | WRITE | PREFETCH },
	[PERF_COUNT_HW_CACHE_DTLB] = { { "dTLB", "d-tlb", "Data-TLB" }, READ | WRITE | PREFETCH },
	[PERF_COUNT_HW_CACHE_ITLB] = { { "iTLB", "i-tlb", "Instruction-TLB" }, READ },
	[PERF_COUNT_HW_CACHE_BPU] = { { "branch", "branches", "bpu", "btb", "bpc" }, READ },
	[PERF_COUNT_HW_CACHE_NODE] = { { "node" }, READ | WRITE | PREFETCH },
};

static const char *const cache_ops[][MAX_ALIASES + 1] = {
	[PERF_COUNT_HW_CACHE_OP_READ] = { "load", "loads", "read" },
	[PERF_COUNT_HW_CACHE_OP_WRITE] = { "store", "stores", "write" },
	[PERF_COUNT_HW_CACHE_OP_PREFETCH] = { "prefetch", "prefetches", "speculative-read",
					      "speculative-load" },
};

static const char *const cache_results[][MAX_ALIASES + 1] = {
	[PERF_COUNT_HW_CACHE_RESULT_ACCESS] = { "refs", "Reference", "ops", "access" },
	[PERF_COUNT_HW_CACHE_RESULT_MISS] = { "misses", "miss" },
};

int event_names__find(const char *s, size_t len, uint32_t *ret_type, uint64_t *ret_config)
{
	for (const struct event_name *n = event_names; n->name; n++) {
		if (strlen(n->name) != len || memcmp(n->name, s, len))
			continue;
		*ret_type = n->type;
		*ret_config = n->config;
		return 0;
	}
	return -ENOENT;
}

/* If @s starts with one of @names, up to its end or a '-', get the length of that name; else 0. */
static size_t alias_length(const char *const *names, const char *s, size_t len)
{
	for (; *names; names++) {
		size_t n = strlen(*names);

		if (n <= len && !memcmp(*names, s, n) && (n == len || s[n] == '-'))
			return n;
	}
	return 0;
}

/* Find the row of @table whose name *s starts with, and skip the name and a '-'. -1: none. */
static int take_alias(const char *const (*table)[MAX_ALIASES + 1], size_t rows, const char **s,
		      size_t *len)
{
	for (size_t i = 0; i < rows; i++) {
		size_t n = alias_length(table[i], *s, *len);

		if (!n)
			continue;
		n += n < *len;
		*s += n;
		*len -= n;
		return i;
	}
	return -1;
}

int event_names__find_cache(const char *s, size_t len, uint64_t *ret_config)
{
	size_t cache, n = 0;
	int op = -1, result = -1;

	if (len && s[len - 1] == '-')
		return -ENOENT;
	for (cache = 0; cache < ARRAY_SIZE(caches); cache++) {
		n = alias_length(caches[cache].names, s, len);
		if (n)
			break;
	}
	if (!n)
		return -ENOENT;
	n += n < len;
	s += n;
	len -= n;
	/* Operation and result, in either order, each at most once; default: loads and accesses. */
	for (int i = 0; i < 2 && len; i++) {
		if (op < 0)
			op = take_alias(cache_ops, ARRAY_SIZE(cache_ops), &s, &len);
		if (result < 0 && len)
			result = take_alias(cache_results, ARRAY_SIZE(cache_results), &s, &len);
	}
	if (len)
		return -ENOENT;
	op = op < 0 ? PERF_COUNT_HW_CACHE_OP_READ : op;
	result = result < 0 ? PERF_COUNT_HW_CACHE_RESULT_ACCESS : result;
	if (!(caches[cache].ops & 1U << op))
		return -EINVAL;
	*ret_config = cache | (uint64_t)op << 8 | (uint64_t)result << 16;
	return 0;
}

#define N_CACHE_NAMES (ARRAY_SIZE(caches) * ARRAY_SIZE(cache_ops) * 2)

/*
 * Format name @i as in `perf list`. False: the cache has no such operation, or @i is out of range.
 */
static bool cache_name(size_t i, char *buf, size_t size)
{
	size_t cache = i / 2 / ARRAY_SIZE(cache_ops), op = i / 2 % ARRAY_SIZE(cache_ops);

	if (i >= N_CACHE_NAMES || !(caches[cache].ops & 1U << op))
		return false;
	snprintf(buf, size, "%s-%s%s", caches[cache].names[0], cache_ops[op][i % 2 ? 0 : 1],
		 i % 2 ? "-misses" : "");
	return true;
}

void event_names__each_cache(void (*fn)(const char *name, void *arg), void *arg)
{
	char name[EVENT_NAMES_CACHE_MAX];

	for (size_t i = 0; i < N_CACHE_NAMES; i++) {
		if (cache_name(i, name, sizeof(name)))
			fn(name, arg);
	}
}

const char *event_names__nearest(const char *s, size_t len, char *buf, size_t size)
{
	char cache_names[N_CACHE_NAMES][EVENT_NAMES_CACHE_MAX];
	const char *words[ARRAY_SIZE(event_names) + N_CACHE_NAMES], *near;
	size_t n = 0;

	for (const struct event_name *e = event_names; e->name; e++)
		words[n++] = e->name;
	for (size_t i = 0; i < N_CACHE_NAMES; i++) {
		if (cache_name(i, cache_names[i], sizeof(cache_names[i])))
			words[n++] = cache_names[i];
	}
	words[n] = NULL;
	near = nearest_word(s, len, words);
	if (near)
		snprintf(buf, size, "%s", near);
	return near ? buf : NULL;
}
