// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sections on CPUs, caches and memory. CPU_TOPOLOGY and CACHE come from one sysfs directory per
 * CPU.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "common/cpus.h"
#include "perfdata/encode.h"
#include "perfdata/host_sections.h"

#define CPU_DIR	   "/sys/devices/system/cpu/cpu%u"
#define INDEX_MAX  10 /* cache indexes to look for, as in perf */
#define CACHES_MAX (1 << 20)

/* Distinct strings, in order of appearance. */
struct string_set {
	char **v;
	size_t n, cap;
};

static void string_set__free(struct string_set *s)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		free(s->v[i]);
	free(s->v);
}

static int string_set__add(struct string_set *s, const char *text)
{
	size_t i;

	for (i = s->n; i-- > 0;) /* the latest one is the most likely match */
		if (!strcmp(s->v[i], text))
			return 0;
	if (!ARRAY_HAS_ROOM(s->v, s->n, s->cap, 16))
		return -ENOMEM;
	s->v[s->n] = strdup(text);
	if (!s->v[s->n])
		return -ENOMEM;
	s->n++;
	return 0;
}

static int string_set__encode(const struct string_set *s, struct buf *b)
{
	int err = encode__u32(b, s->n);
	size_t i;

	for (i = 0; !err && i < s->n; i++)
		err = encode__string(b, s->v[i]);
	return err;
}

/* Append u32 n, n strings: the distinct lists in topology/@file. @old: its name before Linux
 * 5.3, or NULL. -ENOENT: no CPU has it. */
static int add_distinct_lists(const struct host_env *env, const char *file, const char *old,
			      struct buf *b)
{
	struct string_set set = { 0 };
	struct buf text = { 0 };
	int err = 0;
	uint32_t cpu;

	for (cpu = 0; !err && cpu < env->cpus_avail; cpu++) {
		text.len = 0;
		err = host_files__text(env->root, &text, CPU_DIR "/topology/%s", cpu, file);
		if (err && err != -ENOMEM && old)
			err = host_files__text(env->root, &text, CPU_DIR "/topology/%s", cpu, old);
		if (!err && text.len)
			err = string_set__add(&set, text.data);
		if (err != -ENOMEM)
			err = 0; /* an offline CPU has no topology */
	}
	err = err ?: set.n ? string_set__encode(&set, b) : -ENOENT;
	string_set__free(&set);
	buf__free(&text);
	return err;
}

/* -1 for an offline CPU; readers expect that. */
static uint32_t topology_id(const struct host_env *env, uint32_t cpu, const char *file)
{
	uint64_t v;

	if (host_files__u64(env->root, 10, &v, CPU_DIR "/topology/%s", cpu, file) || v > INT32_MAX)
		return -1;
	return v;
}

/* perf refuses larger socket ids, except on s390 and arm64 (header.c: process_cpu_topology). */
static bool socket_id_legal(const struct host_env *env, uint32_t id)
{
	return id == (uint32_t)-1 || id <= env->cpus_avail ||
	       !strncmp(env->uts.machine, "s390", 4) || !strcmp(env->uts.machine, "aarch64");
}

int host_topology__cpus(const struct host_env *env, struct buf *b)
{
	size_t without_dies;
	uint32_t cpu;
	int err;

	err = add_distinct_lists(env, "package_cpus_list", "core_siblings_list", b)
		      ?: add_distinct_lists(env, "core_cpus_list", "thread_siblings_list", b);
	for (cpu = 0; !err && cpu < env->cpus_avail; cpu++) {
		uint32_t socket = topology_id(env, cpu, "physical_package_id");

		if (!socket_id_legal(env, socket))
			return -ERANGE;
		err = encode__u32(b, topology_id(env, cpu, "core_id")) ?: encode__u32(b, socket);
	}
	if (err)
		return err;
	without_dies = b->len;
	err = add_distinct_lists(env, "die_cpus_list", NULL, b);
	for (cpu = 0; !err && cpu < env->cpus_avail; cpu++)
		err = encode__u32(b, topology_id(env, cpu, "die_id"));
	if (err && err != -ENOMEM) { /* dies are optional */
		b->len = without_dies;
		err = 0;
	}
	return err;
}

struct cache {
	size_t order; /* order of discovery */
	uint32_t level, line_size, sets, ways;
	char *type, *size, *map;
};

struct cache_set {
	struct cache *v;
	size_t n, cap;
};

static void cache__clear(struct cache *c)
{
	free(c->type);
	free(c->size);
	free(c->map);
}

static void cache_set__free(struct cache_set *s)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		cache__clear(&s->v[i]);
	free(s->v);
}

static int read_cache_text(const struct host_env *env, uint32_t cpu, uint32_t index,
			   const char *file, char **ret)
{
	struct buf b = { 0 };
	int err = host_files__text(env->root, &b, CPU_DIR "/cache/index%u/%s", cpu, index, file);

	if (!err && !b.len)
		err = -EINVAL;
	if (err)
		buf__free(&b);
	else
		*ret = b.data;
	return err;
}

static int read_cache(const struct host_env *env, uint32_t cpu, uint32_t index, struct cache *c)
{
	const struct {
		const char *file;
		uint32_t *value;
	} numbers[] = {
		{ "level", &c->level },
		{ "coherency_line_size", &c->line_size },
		{ "number_of_sets", &c->sets },
		{ "ways_of_associativity", &c->ways },
	};
	uint64_t v;
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		err = host_files__u64(env->root, 10, &v, CPU_DIR "/cache/index%u/%s", cpu, index,
				      numbers[i].file);
		if (err)
			return err;
		*numbers[i].value = v;
	}
	return read_cache_text(env, cpu, index, "type", &c->type) ?:
	       read_cache_text(env, cpu, index, "size", &c->size) ?:
	       read_cache_text(env, cpu, index, "shared_cpu_list", &c->map);
}

static bool cache_set__has(const struct cache_set *s, const struct cache *c)
{
	size_t i;

	for (i = s->n; i-- > 0;)
		if (s->v[i].level == c->level && !strcmp(s->v[i].type, c->type) &&
		    !strcmp(s->v[i].map, c->map))
			return true;
	return false;
}

/* Takes over the strings of @c if it returns 0. */
static int cache_set__add(struct cache_set *s, const struct cache *c)
{
	if (s->n == CACHES_MAX || !ARRAY_HAS_ROOM(s->v, s->n, s->cap, 16))
		return -ENOMEM;
	s->v[s->n] = *c;
	s->v[s->n].order = s->n;
	s->n++;
	return 0;
}

/* By level, as in perf; within a level in order of discovery. */
static int cache__compare(const void *a, const void *b)
{
	const struct cache *x = a, *y = b;

	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int collect_caches(const struct host_env *env, struct cache_set *set)
{
	uint32_t cpu, index;

	for (cpu = 0; cpu < env->cpus_avail; cpu++) {
		for (index = 0; index < INDEX_MAX; index++) {
			struct cache c = { 0 };
			int err = read_cache(env, cpu, index, &c);

			if (!err && !cache_set__has(set, &c)) {
				err = cache_set__add(set, &c);
				if (!err)
					continue; /* the set owns it now */
			}
			cache__clear(&c);
			if (err == -ENOMEM)
				return err;
			if (err)
				break; /* no more levels, or the CPU is offline */
		}
	}
	return set->n ? 0 : -ENOENT;
}

int host_topology__caches(const struct host_env *env, struct buf *b)
{
	struct cache_set set = { 0 };
	int err = collect_caches(env, &set);
	size_t i;

	if (!err) {
		qsort(set.v, set.n, sizeof(*set.v), cache__compare);
		err = encode__u32(b, 1 /* version */) ?: encode__u32(b, set.n);
	}
	for (i = 0; !err && i < set.n; i++) {
		const struct cache *c = &set.v[i];

		err = encode__u32(b, c->level) ?: encode__u32(b, c->line_size) ?:
		      encode__u32(b, c->sets) ?: encode__u32(b, c->ways) ?:
		      encode__string(b, c->type) ?: encode__string(b, c->size) ?:
		      encode__string(b, c->map);
	}
	cache_set__free(&set);
	return err;
}

/* ---- memory: TOTAL_MEM, NUMA_TOPOLOGY and MEM_TOPOLOGY ---- */

#define NODE_DIR   "/sys/devices/system/node"
#define BLOCKS_MAX (1U << 24) /* of 128 MiB each: 2 PiB */

int host_memory__total(const struct host_env *env, struct buf *b)
{
	uint64_t kb;

	return host_files__field_u64(env->root, "/proc/meminfo", "MemTotal", &kb)
		       ?: encode__u64(b, kb);
}

typedef int (*node_fn)(const struct host_env *env, uint32_t node, struct buf *b);

/* Call @fn for every online node, which appends to @b. *ret_n: number of nodes. */
static int for_each_node(const struct host_env *env, node_fn fn, struct buf *b, uint32_t *ret_n)
{
	struct buf online = { 0 };
	int *nodes = NULL;
	size_t n = 0;
	int err = host_files__text(env->root, &online, NODE_DIR "/online");

	err = err ?: online.len ? cpus__parse(online.data, &nodes, &n) : -ENOENT;
	for (size_t i = 0; i < n && !err; i++)
		err = fn(env, nodes[i], b);
	free(nodes);
	buf__free(&online);
	if (!err)
		*ret_n = n;
	return err;
}

static int add_numa_node(const struct host_env *env, uint32_t node, struct buf *b)
{
	static const char *const keys[] = { "MemTotal", "MemFree" };
	struct buf cpus = { 0 };
	char path[64], key[64];
	uint64_t kb[2];
	size_t i;
	int err = 0;

	snprintf(path, sizeof(path), NODE_DIR "/node%u/meminfo", node);
	for (i = 0; !err && i < 2; i++) {
		snprintf(key, sizeof(key), "Node %u %s", node, keys[i]);
		err = host_files__field_u64(env->root, path, key, &kb[i]);
	}
	err = err ?: host_files__text(env->root, &cpus, NODE_DIR "/node%u/cpulist", node);
	err = err ?: encode__u32(b, node) ?: encode__u64(b, kb[0]) ?: encode__u64(b, kb[1]) ?:
		      encode__string(b, cpus.len ? cpus.data : "");
	buf__free(&cpus);
	return err;
}

int host_memory__numa(const struct host_env *env, struct buf *b)
{
	size_t at = b->len;
	uint32_t n;
	int err;

	err = encode__u32(b, 0) ?: for_each_node(env, add_numa_node, b, &n);
	if (!err)
		encode__set_u32(b, at, n);
	return err;
}

/* The number N of a directory memoryN; -1: another name. */
static int64_t block_number(const char *name)
{
	unsigned long n;
	char *end;

	if (strncmp(name, "memory", 6) || !isdigit((unsigned char)name[6]))
		return -1;
	n = strtoul(name + 6, &end, 10);
	return *end || n >= BLOCKS_MAX ? -1 : (int64_t)n;
}

/* Make a bitmap of the node's blocks. *ret_bits: highest block + 1. */
static int read_blocks(DIR *dir, struct buf *bitmap, uint64_t *ret_bits)
{
	uint64_t bits = 1; /* perf's bitmaps have at least one bit */
	struct dirent *e;
	int err = buf__add_zero(bitmap, 8);

	while (!err && (e = readdir(dir))) {
		int64_t nr = block_number(e->d_name);
		size_t need = nr < 0 ? 0 : (size_t)(nr / 64 + 1) * 8;

		if (nr < 0)
			continue;
		if (need > bitmap->len)
			err = buf__add_zero(bitmap, need - bitmap->len);
		if (err)
			break;
		((uint64_t *)bitmap->data)[nr / 64] |= 1ULL << (nr % 64);
		if ((uint64_t)nr + 1 > bits)
			bits = nr + 1;
	}
	if (!err)
		*ret_bits = bits;
	return err;
}

static int add_memory_node(const struct host_env *env, uint32_t node, struct buf *b)
{
	struct buf bitmap = { 0 };
	char path[PATH_MAX];
	uint64_t bits;
	DIR *dir;
	int err;

	if ((size_t)snprintf(path, sizeof(path), "%s" NODE_DIR "/node%u", env->root, node) >=
	    sizeof(path))
		return -ENAMETOOLONG;
	dir = opendir(path);
	if (!dir)
		return -errno;
	err = read_blocks(dir, &bitmap, &bits);
	closedir(dir);
	if (!err) /* the number of bits is written twice: for the node and for the bitmap */
		err = encode__u64(b, node) ?: encode__u64(b, bits) ?: encode__u64(b, bits) ?:
		      buf__add(b, bitmap.data, bitmap.len);
	buf__free(&bitmap);
	return err;
}

int host_memory__blocks(const struct host_env *env, struct buf *b)
{
	uint64_t block_size, nodes;
	size_t at;
	uint32_t n;
	int err;

	err = host_files__u64(env->root, 16, &block_size,
			      "/sys/devices/system/memory/block_size_bytes") ?:
	      encode__u64(b, 1 /* version */) ?: encode__u64(b, block_size);
	if (err)
		return err;
	at = b->len;
	err = encode__u64(b, 0) ?: for_each_node(env, add_memory_node, b, &n);
	if (err)
		return err;
	nodes = n;
	memcpy(b->data + at, &nodes, sizeof(nodes));
	return 0;
}
