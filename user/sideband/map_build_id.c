// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/foreign.h"
#include "common/map_file.h"
#include "sideband/map_build_id.h"

#define ENTRIES_MAX 8192 /* more files than a machine runs; then all are forgotten */

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
	pthread_mutex_t lock;
	struct entry *entries;
};

int map_build_ids__new(struct map_build_ids **ret)
{
	struct map_build_ids *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
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

static bool lookup(struct map_build_ids *c, const struct entry *wanted, size_t key_len,
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

/* Takes @e over. What cannot be kept is read again next time. */
static void remember(struct map_build_ids *c, struct entry *e, size_t key_len)
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

static bool is_file(const struct stat *st, const struct map_file_id *file)
{
	return st->st_ino == file->ino && major(st->st_dev) == file->maj &&
	       minor(st->st_dev) == file->min;
}

/* What the process has mapped there need not be what it had: ids are used again. On btrfs and
 * overlayfs fstat() tells another device than the map, then the path has to agree. */
static bool is_mapped_file(const struct stat *st, const char *map_file,
			   const struct map_file_id *file, const char *name)
{
	char path[PATH_MAX];
	ssize_t n;

	if (is_file(st, file))
		return true;
	n = readlink(map_file, path, sizeof(path));
	return n > 0 && (size_t)n == strlen(name) && !memcmp(path, name, n);
}

/* An inode that was used again has another generation; where the file system does not tell, believe
 * it. */
static bool is_generation(int fd, const struct map_file_id *file)
{
	long now = 0;

	return !file->ino_generation || ioctl(fd, FS_IOC_GETVERSION, &now) ||
	       (uint32_t)now == (uint32_t)file->ino_generation;
}

/* Takes @found over. Another file may have taken the name: that one is not opened. */
static int open_found(int found, const struct stat *st, const struct map_file_id *file)
{
	int fd;

	if (found < 0)
		return found;
	fd = is_file(st, file) ? foreign__open(found) : -ESTALE;
	close(found);
	if (fd < 0 || is_generation(fd, file))
		return fd;
	close(fd);
	return -ESTALE;
}

static int open_map_file(uint32_t pid, uint64_t start, uint64_t end, const struct map_file_id *file,
			 const char *name)
{
	char path[MAP_FILE_PATH_MAX];
	struct stat st;

	map_file__path(pid, start, end, path);
	_cleanup_close_ int found = foreign__find(path, FOREIGN_MAGIC, &st);
	if (found < 0)
		return found;
	return is_mapped_file(&st, path, file, name) ? foreign__open(found) : -ESTALE;
}

/* As the process has it, by its path; when it has ended, as we have that path. */
static int open_mapped(uint32_t pid, uint64_t start, uint64_t end, const struct map_file_id *file,
		       const char *name)
{
	struct stat st;
	int fd = open_map_file(pid, start, end, file, name), found;

	if (fd >= 0)
		return fd;
	found = foreign__find_of(pid, name, &st);
	fd = open_found(found, &st, file);
	if (fd >= 0)
		return fd;
	found = foreign__find(name, 0, &st);
	return open_found(found, &st, file);
}

bool map_build_ids__find(struct map_build_ids *c, uint32_t pid, uint64_t start, uint64_t end,
			 const struct map_file_id *file, const char *name, struct build_id *ret)
{
	size_t len = strlen(name), key_len = sizeof(struct key) + len;
	struct entry *e;
	int err;

	if (name[0] != '/' || name[1] == '/' || !file->ino)
		return false;
	e = calloc(1, sizeof(*e) + len + 1);
	if (!e)
		return false;
	e->key = (struct key){ file->ino, file->ino_generation, file->maj, file->min };
	memcpy(e->name, name, len);
	if (lookup(c, e, key_len, ret)) {
		free(e);
		return ret->size;
	}
	_cleanup_close_ int fd = open_mapped(pid, start, end, file, name);
	if (fd < 0) { /* not remembered: another process may still show it */
		free(e);
		return false;
	}
	err = build_id__read_fd(fd, &e->id);
	if (err)
		e->id.size = 0;
	*ret = e->id;
	remember(c, e, key_len);
	return ret->size;
}
