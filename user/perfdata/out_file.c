// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "perfdata/out_file.h"

#define PACE_BYTES (8ULL << 20)

/* @fd: what open() or fcntl() returned; taken over */
static int begin_file(int fd, const char *name, struct err *err, struct out_file *ret)
{
	struct out_file f = { .fd = fd, .name = name };

	if (fd < 0)
		return err_set(err, -errno, "%s: cannot create: %s", name, strerror(errno));
	f.buf = malloc(OUT_FILE_BUFFER);
	if (!f.buf) {
		close(fd);
		return err_set(err, -ENOMEM, "%s: out of memory for its buffer", name);
	}
	*ret = f;
	return 0;
}

int out_file__create(int dirfd, const char *name, struct err *err, struct out_file *ret)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int code = begin_file(fd, name, err, ret);

	if (code && fd >= 0)
		unlinkat(dirfd, name, 0);
	return code;
}

int out_file__use(int fd, const char *name, struct err *err, struct out_file *ret)
{
	return begin_file(fcntl(fd, F_DUPFD_CLOEXEC, 3), name, err, ret);
}

static int out_file_write(struct out_file *f, uint64_t off, const char *data, size_t len,
			  struct err *err)
{
	while (len) {
		ssize_t n = pwrite(f->fd, data, len, off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int code = n < 0 ? -errno : -EIO;

			return err_set(err, code, "%s: cannot write: %s", f->name, strerror(-code));
		}
		data += n;
		len -= n;
		off += n;
	}
	return 0;
}

/* Only a hint: if a file system lacks it, the fsync takes longer. */
static void pace_writes(struct out_file *f)
{
	if (f->flushed - f->paced < PACE_BYTES)
		return;
	sync_file_range(f->fd, f->paced, f->flushed - f->paced, SYNC_FILE_RANGE_WRITE);
	f->paced = f->flushed;
}

static int append_data(struct out_file *f, const char *data, size_t len, struct err *err)
{
	while (len) {
		size_t part = len < PACE_BYTES ? len : PACE_BYTES;
		int code = out_file_write(f, f->flushed, data, part, err);

		if (code)
			return code;
		f->flushed += part;
		data += part;
		len -= part;
		pace_writes(f);
	}
	return 0;
}

int out_file__flush(struct out_file *f, struct err *err)
{
	int code = append_data(f, f->buf, f->len, err);

	if (!code)
		f->len = 0;
	return code;
}

int out_file__write_large(struct out_file *f, const void *data, size_t len, struct err *err)
{
	int code = out_file__flush(f, err);

	if (code)
		return code;
	if (len >= OUT_FILE_BUFFER)
		return append_data(f, data, len, err);
	memcpy(f->buf, data, len);
	f->len = len;
	return 0;
}

int out_file__write_at(struct out_file *f, uint64_t off, const void *data, size_t len,
		       struct err *err)
{
	return out_file_write(f, off, data, len, err);
}

int out_file__sync(struct out_file *f, struct err *err)
{
	if (fsync(f->fd)) {
		int code = -errno;

		return err_set(err, code, "%s: cannot write to disk: %s", f->name, strerror(-code));
	}
	return 0;
}

void out_file__close(struct out_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	free(f->buf);
	f->fd = -1;
	f->buf = NULL;
}
