// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/forward_ring.h"
#include "perfdata/record.h"
#include "sideband/map_build_id.h"

#define ENTRIES_MAX 8192 /* more files than any machine runs; above it, the cache is emptied */

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

/* 0: the answer is known; a file that kills the examiner counts as having no build id. */
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

/* An event of the calling thread, and its ring of one page. */
struct listener {
	int fd;
	struct forward_ring ring;
};

static bool listener__open(struct listener *l, bool build_id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = PERF_ATTR_SIZE_VER7,
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		/* Record non-executable maps, too. `perf record` without -d does not, so an event
		 * of it that this thread has inherited cannot get a header with the stale bit. */
		.mmap_data = 1,
		.mmap2 = 1,
		.build_id = build_id,
	};

	l->fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	return l->fd >= 0 && !forward_ring__map(l->fd, sysconf(_SC_PAGESIZE), &l->ring);
}

static void listener__close(struct listener *l)
{
	forward_ring__unmap(&l->ring);
	cleanup_close(&l->fd);
}

struct heard {
	const void *addr;
	uint16_t misc;
};

static void hear_record(const struct perf_event_header *h, void *arg)
{
	const struct record_mmap2 *r = (const void *)h;
	struct heard *heard = arg;

	if (h->type == PERF_RECORD_MMAP2 && h->size >= sizeof(*r) &&
	    r->start == (uintptr_t)heard->addr)
		heard->misc = h->misc;
}

/* The misc bits of the MMAP2 record for @addr; 0: there is none. */
static uint16_t listener__heard(const struct listener *l, const void *addr)
{
	struct heard heard = { .addr = addr };
	struct forward_record wrapped;

	forward_ring__drain(&l->ring, &wrapped, hear_record, &heard);
	return heard.misc;
}

/* Map and unmap our own file, which has a build id: both events record it. NULL: failed. */
static const void *map_ourselves(void)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	size_t size = sysconf(_SC_PAGESIZE);
	void *p;

	if (fd < 0)
		return NULL;
	p = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return NULL;
	munmap(p, size);
	return p;
}

bool build_id_probe__is_clean(void)
{
	struct listener plain = { .fd = -1 }, asking = { .fd = -1 };
	uint16_t heard_plain, heard_asking;
	const void *addr = NULL;
	bool clean = false;

	/* the kernel writes to the newest event first: a stale bit reaches the older one */
	if (listener__open(&plain, false) && listener__open(&asking, true))
		addr = map_ourselves();
	if (addr) {
		heard_plain = listener__heard(&plain, addr);
		heard_asking = listener__heard(&asking, addr);
		clean = heard_plain && !(heard_plain & PERF_RECORD_MISC_MMAP_BUILD_ID) &&
			(heard_asking & PERF_RECORD_MISC_MMAP_BUILD_ID);
	}
	listener__close(&asking);
	listener__close(&plain);
	return clean;
}
