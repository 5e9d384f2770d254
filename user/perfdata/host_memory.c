// SPDX-License-Identifier: GPL-2.0-only
/* TOTAL_MEM, NUMA_TOPOLOGY and MEM_TOPOLOGY. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perfdata/encode.h"
#include "perfdata/host_files.h"
#include "perfdata/host_sections.h"

#define NODE_DIR   "/sys/devices/system/node"
#define NODES_MAX  4096
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
	uint32_t lo, hi, n = 0;
	const char *s;
	int err, more;

	err = host_files__text(env->root, &online, NODE_DIR "/online");
	if (!err && !online.len)
		err = -ENOENT;
	s = online.data;
	while (!err && (more = host_files__next_range(&s, &lo, &hi)) != 0) {
		if (more < 0 || hi >= NODES_MAX)
			err = -EINVAL;
		for (; !err && lo <= hi; lo++, n++)
			err = fn(env, lo, b);
	}
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

/* The number N of a folder memoryN; -1: another name. */
static int64_t block_number(const char *name)
{
	uint32_t lo, hi;

	if (strncmp(name, "memory", 6))
		return -1;
	name += 6;
	if (host_files__next_range(&name, &lo, &hi) != 1 || *name || lo != hi || lo >= BLOCKS_MAX)
		return -1;
	return lo;
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
