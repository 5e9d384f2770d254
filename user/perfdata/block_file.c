// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/opening.h"
#include "perfdata/block_file.h"

#define BLOCK_SIZE 65536u
#define SLOT_BITS  10 /* 64 MB at most */
#define SLOTS	   (1u << SLOT_BITS)

struct block {
	uint64_t number; /* offset / BLOCK_SIZE */
	size_t len;	 /* 0: not read */
	char *data;	 /* owned */
};

struct block_file {
	int fd;
	uint64_t size;
	char *path;
	bool one_way; /* use one slot only */
	struct block slots[SLOTS];
};

static int not_regular(const char *path, struct err *err)
{
	return err_set(err, -EINVAL,
		       "%s: not a regular file; what `perf record -o -` writes into a pipe is "
		       "another format",
		       path);
}

int block_file__from_fd(int fd, const char *path, struct err *err, struct block_file **ret)
{
	_cleanup_close_ int owned = fd;
	struct block_file *f;
	struct stat st;

	if (fstat(fd, &st))
		return err_set(err, -errno, "%s: cannot look at it: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return not_regular(path, err);
	f = calloc(1, sizeof(*f));
	if (!f)
		return err_set(err, -ENOMEM, "%s: out of memory", path);
	f->path = strdup(path);
	if (!f->path) {
		free(f);
		return err_set(err, -ENOMEM, "%s: out of memory", path);
	}
	f->size = st.st_size;
	f->fd = TAKE_FD(owned);
	*ret = f;
	return 0;
}

int block_file__open(const char *path, struct err *err, struct block_file **ret)
{
	int fd = opening__recording(path);

	if (fd == -ENXIO)
		return not_regular(path, err);
	if (fd == -ENOEXEC)
		return err_set(err, -EINVAL, "%s: not a perf.data file", path);
	if (fd < 0)
		return err_set(err, fd, "%s: cannot open it: %s%s", path, strerror(-fd),
			       fd == -EACCES ? " (try sudo)" : "");
	return block_file__from_fd(fd, path, err, ret);
}

void block_file__free(struct block_file *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < SLOTS; i++)
		free(f->slots[i].data);
	close(f->fd);
	free(f->path);
	free(f);
}

void block_file__read_one_way(struct block_file *f, bool one_way)
{
	for (size_t i = 0; i < SLOTS; i++) {
		free(f->slots[i].data);
		f->slots[i] = (struct block){ 0 };
	}
	f->one_way = one_way;
}

uint64_t block_file__size(const struct block_file *f)
{
	return f->size;
}

static int fill_block(struct block_file *f, struct block *b, uint64_t number, struct err *err)
{
	uint64_t off = number * BLOCK_SIZE;
	ssize_t n;

	if (!b->data)
		b->data = malloc(BLOCK_SIZE);
	if (!b->data)
		return err_set(err, -ENOMEM, "%s: out of memory", f->path);
	b->number = number;
	b->len = 0;
	while (b->len < BLOCK_SIZE) {
		n = pread(f->fd, b->data + b->len, BLOCK_SIZE - b->len, off + b->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, -errno, "%s: cannot read it at offset %" PRIu64 ": %s",
				       f->path, off + b->len, strerror(errno));
		if (!n)
			break;
		b->len += n;
	}
	return 0;
}

/* A hash, so that blocks at a regular distance do not share one slot. */
static struct block *block_slot(struct block_file *f, uint64_t number)
{
	return &f->slots[f->one_way ? 0 : (number * 0x9e3779b97f4a7c15ULL) >> (64 - SLOT_BITS)];
}

int block_file__read(struct block_file *f, uint64_t off, void *to, size_t len, struct err *err)
{
	if (off > f->size || len > f->size - off)
		return err_set(err, -EINVAL,
			       "%s: %zu bytes at offset %" PRIu64
			       " are announced, but the file ends at %" PRIu64 ": it was cut",
			       f->path, len, off, f->size);
	while (len) {
		uint64_t number = off / BLOCK_SIZE;
		struct block *b = block_slot(f, number);
		size_t at = off % BLOCK_SIZE, n = BLOCK_SIZE - at < len ? BLOCK_SIZE - at : len;

		if (b->number != number || !b->len) {
			int code = fill_block(f, b, number, err);

			if (code)
				return code;
		}
		if (at + n > b->len)
			return err_set(err, -EINVAL,
				       "%s: it was truncated at offset %" PRIu64
				       " while it was read",
				       f->path, number * BLOCK_SIZE + b->len);
		memcpy(to, b->data + at, n);
		to = (char *)to + n;
		off += n;
		len -= n;
	}
	return 0;
}
