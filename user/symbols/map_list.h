/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Executable maps of a process: an ordered list without overlaps. Lists are shared between
 * processes (a fork copies nothing) and copied when one of the sharers writes; what a map shows is
 * interned, because most processes map the same few files. All of it lives in a pool, which counts
 * its bytes. Not locked.
 */
#ifndef FRBPF_SYMBOLS_MAP_LIST_H
#define FRBPF_SYMBOLS_MAP_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_NONFATAL_OOM 1 /* hh.tbl is NULL then */
#include <uthash.h>

#include "perfdata/build_id.h"

/* More than vm.max_map_count's default: only a process whose unmapped maps we never heard of gets
 * there. */
#define MAP_LIST_MAX 65536

/* Either the build id is known (from the kernel's MMAP2), or device and inode are. */
struct map_file_id {
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	struct build_id build_id;
	uint8_t zero[3];
};

struct map_file {
	UT_hash_handle hh;
	uint32_t refs;
	uint32_t name_len;
	bool asked;	       /* somebody looks for the build id; for the caller's use */
	struct build_id found; /* read from the file later: not part of what is compared */
	struct map_file_id id; /* the key of the hash: id and name */
	char name[];
};

struct map {
	uint64_t start, end; /* bytes; end is exclusive */
	uint64_t pgoff;	     /* bytes */
	struct map_file *file;
	uint32_t prot, flags;
};

struct map_list {
	uint32_t refs;
	uint32_t n, cap;
	struct map v[]; /* by start */
};

struct map_pool { /* { 0 } is an empty one */
	struct map_file *files;
	size_t bytes;
};

/* Find or make the file of this identity and take a reference. -ENOMEM, -ENAMETOOLONG. */
int map_file__get(struct map_pool *pool, const struct map_file_id *id, const char *name,
		  size_t name_len, struct map_file **ret);
void map_file__put(struct map_pool *pool, struct map_file *f);

/* The id to write: the kernel's, else the one found in the file; size 0: none. */
const struct build_id *map_file__build_id(const struct map_file *f);

/* Put @m over what *list (NULL: empty) has there: maps below it are split or trimmed. Takes a
 * reference of its own to m->file. 0, -ENOMEM, -E2BIG (MAP_LIST_MAX); the list is as it was then.
 */
int map_list__overlay(struct map_list **list, struct map_pool *pool, const struct map *m);
/* The map that has @addr; NULL: none (@list may be NULL). */
const struct map *map_list__find(const struct map_list *list, uint64_t addr);
/* The same list for another process; NULL stays NULL. */
struct map_list *map_list__share(struct map_list *list);
/* A copy whose files live in @to. */
int map_list__copy(const struct map_list *list, struct map_pool *to, struct map_list **ret);
void map_list__put(struct map_list *list, struct map_pool *pool);

#endif
