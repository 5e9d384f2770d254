// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "sideband/map_build_id.h"

#define ENTRIES_MAX 8192 /* above it, the cache is emptied; no machine runs so many files */

struct entry {
	UT_hash_handle hh;  /* by key and name */
	struct build_id id; /* size 0: the file has none */
	struct key {
		uint64_t ino, generation;
		uint32_t maj, min;
	} key;
	char name[];
};
_Static_assert(offsetof(struct entry, name) == offsetof(struct entry, key) + sizeof(struct key),
	       "key and name are one key");

struct map_build_ids {
	struct examiner *examiner; /* borrowed; NULL: there is none */
	pthread_mutex_t lock;
	struct entry *entries;
};

int map_build_ids__new(struct examiner *examiner, struct map_build_ids **ret)
{
	struct map_build_ids *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->examiner = examiner;
	pthread_mutex_init(&c->lock, NULL);
	*ret = c;
	return 0;
}

static void forget_all(struct map_build_ids *c)
{
	struct entry *e, *next;

	HASH_ITER (hh, c->entries, e, next) {
		HASH_DEL(c->entries, e);
		free(e);
	}
}

void map_build_ids__free(struct map_build_ids *c)
{
	if (!c)
		return;
	forget_all(c);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static bool find_entry(struct map_build_ids *c, const struct entry *wanted, size_t key_len,
		       struct build_id *ret)
{
	const struct entry *e;

	pthread_mutex_lock(&c->lock);
	HASH_FIND(hh, c->entries, &wanted->key, key_len, e);
	if (e)
		*ret = e->id;
	pthread_mutex_unlock(&c->lock);
	return e;
}

/* Add @e to the cache, which takes it over. Out of memory: the file is read again next time. */
static void remember_entry(struct map_build_ids *c, struct entry *e, size_t key_len)
{
	const struct entry *there;

	pthread_mutex_lock(&c->lock);
	if (HASH_COUNT(c->entries) >= ENTRIES_MAX)
		forget_all(c);
	HASH_FIND(hh, c->entries, &e->key, key_len, there);
	if (!there)
		HASH_ADD_KEYPTR(hh, c->entries, &e->key, key_len, e);
	if (there || !e->hh.tbl)
		free(e);
	pthread_mutex_unlock(&c->lock);
}

/* 0: *ret is the answer. If the file kills the examiner, the answer is that it has no build id. */
static int ask_examiner(const struct map_build_ids *c, uint64_t deadline, struct examine_request *r,
			struct build_id *ret)
{
	_cleanup_free_ struct examine_answer *answer = malloc(sizeof(*answer));
	int err;

	if (!answer || !c->examiner)
		return -ENOMEM;
	err = examiner__ask(c->examiner, EXAMINER_BUILD_IDS, r, deadline, answer);
	if (!err)
		*ret = answer->head.id;
	if (err == -EIO)
		ret->size = 0;
	return err == -EIO ? 0 : err ?: answer->head.error;
}

bool map_build_ids__find(struct map_build_ids *c, uint32_t pid, uint64_t start, uint64_t end,
			 const struct map_file_id *file, const char *name, uint64_t deadline,
			 struct build_id *ret)
{
	size_t len = strlen(name), key_len = sizeof(struct key) + len;
	_cleanup_free_ struct examine_request *r = NULL;
	struct entry *e;

	if (name[0] != '/' || name[1] == '/' || !file->ino || len >= sizeof(r->path))
		return false;
	r = calloc(1, sizeof(*r));
	e = calloc(1, sizeof(*e) + len + 1);
	if (!e || !r) {
		free(e);
		return false;
	}
	e->key = (struct key){ file->ino, file->ino_generation, file->maj, file->min };
	memcpy(e->name, name, len);
	if (find_entry(c, e, key_len, ret)) {
		free(e);
		return ret->size;
	}
	*r = (struct examine_request){
		.kind = EXAMINE_BUILD_ID,
		.pid = pid,
		.start = start,
		.end = end,
		.ino = file->ino,
		.ino_generation = file->ino_generation,
		.maj = file->maj,
		.min = file->min,
	};
	memcpy(r->path, name, len);
	if (ask_examiner(c, deadline, r,
			 &e->id)) { /* not cached: another process may give access to the file */
		free(e);
		return false;
	}
	*ret = e->id;
	remember_entry(c, e, key_len);
	return ret->size;
}

void map_build_ids__rest(struct map_build_ids *c)
{
	if (c->examiner)
		examiner__rest(c->examiner, EXAMINER_BUILD_IDS);
}
