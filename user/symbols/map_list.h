/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Executable maps of a process: a sorted list without overlaps. Processes share lists, so a fork
 * copies nothing; a list is copied on write. Files are interned, because most processes map the
 * same few. A pool has the files and counts all bytes. Not locked.
 */
#ifndef FRBPF_SYMBOLS_MAP_LIST_H
#define FRBPF_SYMBOLS_MAP_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_NONFATAL_OOM 1 /* hh.tbl is NULL then */
#include <uthash.h>

#include "perfdata/build_id.h"

/* Above the default of vm.max_map_count. Only stale maps make more: the kernel does not record
 * munmap(). */
#define MAP_LIST_MAX 65536

/* Either the build id is known (from the kernel's MMAP2), or device and inode. */
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
	bool asked;	       /* for the caller: the build id was asked for */
	struct build_id found; /* read from the file later; not part of the key */
	struct map_file_id id; /* hash key: id and name */
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

/* Find or create the file with this id and name, and take a reference. -ENOMEM, -ENAMETOOLONG. */
int map_file__get(struct map_pool *pool, const struct map_file_id *id, const char *name,
		  size_t name_len, struct map_file **ret);
void map_file__put(struct map_pool *pool, struct map_file *f);

/* The build id from the kernel, else the one read from the file; size 0: none. */
const struct build_id *map_file__build_id(const struct map_file *f);

/*
 * Add @m to *list (NULL: empty). Maps that it overlaps are split, trimmed or removed. Takes its own
 * reference to m->file. 0; -ENOMEM; -E2BIG: MAP_LIST_MAX. After an error the list is unchanged.
 */
int map_list__overlay(struct map_list **list, struct map_pool *pool, const struct map *m);
/* Find the map that contains @addr; NULL: none. @list may be NULL. */
const struct map *map_list__find(const struct map_list *list, uint64_t addr);
/* Take a reference to the list, for another process; NULL stays NULL. */
struct map_list *map_list__share(struct map_list *list);
/* Copy the list; the files of the copy are in @to. 0, -ENOMEM, -ENAMETOOLONG. */
int map_list__copy(const struct map_list *list, struct map_pool *to, struct map_list **ret);
void map_list__put(struct map_list *list, struct map_pool *pool);

#endif
