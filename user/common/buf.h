/* SPDX-License-Identifier: GPL-2.0-only */
/* A growable byte buffer. { 0 } is an empty one; buf__free() releases it. */
#ifndef FRBPF_COMMON_BUF_H
#define FRBPF_COMMON_BUF_H

#include <stdarg.h>
#include <stddef.h>

struct buf {
	char *data; /* owned; NULL while nothing was added. Text ends in a NUL that len does not
		       count */
	size_t len; /* bytes in use */
	size_t cap; /* bytes allocated */
};

/* All of these return 0 or -ENOMEM; after -ENOMEM the buffer is as it was before the call. */
int buf__add(struct buf *b, const void *data, size_t len);
int buf__add_zero(struct buf *b, size_t len);
int buf__add_str(struct buf *b, const char *s); /* without its NUL */
int buf__printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int buf__vprintf(struct buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

/*
 * Read a whole file, also one without a size (procfs, sysfs, tracefs), of at most @max bytes into
 * @b. 0; -errno of open or read; -EFBIG: the file is larger; -EAGAIN: an empty pipe; -ENOMEM.
 */
int buf__read_file(struct buf *b, const char *path, size_t max);
int buf__read_fd(struct buf *b, int fd, size_t max);

void buf__free(struct buf *b);

/*
 * Write the @len bytes at @data to @fd, in several calls of write(2) if needed. 0 or its negative
 * errno; -EIO: it wrote nothing. Bytes written before an error stay written.
 */
int write_all(int fd, const void *data, size_t len);

#endif
