// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"

static int buf__reserve(struct buf *b, size_t len)
{
	size_t need, cap = b->cap ? b->cap : 256;
	char *data;

	if (__builtin_add_overflow(b->len, len, &need) || need >= SIZE_MAX / 2)
		return -ENOMEM;
	need++; /* the NUL after text */
	if (need <= b->cap)
		return 0;
	while (cap < need)
		cap *= 2;
	data = realloc(b->data, cap);
	if (!data)
		return -ENOMEM;
	b->data = data;
	b->cap = cap;
	return 0;
}

int buf__add(struct buf *b, const void *data, size_t len)
{
	int err = buf__reserve(b, len);

	if (err)
		return err;
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
	return 0;
}

int buf__add_zero(struct buf *b, size_t len)
{
	int err = buf__reserve(b, len);

	if (err)
		return err;
	memset(b->data + b->len, 0, len + 1);
	b->len += len;
	return 0;
}

int buf__add_str(struct buf *b, const char *s)
{
	return buf__add(b, s, strlen(s));
}

int buf__vprintf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	int n, err;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0)
		return -ENOMEM;
	err = buf__reserve(b, n);
	if (err)
		return err;
	vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
	b->len += n;
	return 0;
}

int buf__printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int err;

	va_start(ap, fmt);
	err = buf__vprintf(b, fmt, ap);
	va_end(ap);
	return err;
}

int buf__read_fd(struct buf *b, int fd, size_t max)
{
	size_t start = b->len;
	ssize_t n;
	int err;

	for (;;) {
		size_t want = 4096;

		if (b->cap > b->len + 1 + want)
			want = b->cap - b->len - 1;
		err = buf__reserve(b, want);
		if (err)
			break;
		n = read(fd, b->data + b->len, want);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			err = n < 0 ? -errno : 0;
			break;
		}
		b->len += n;
		if (b->len - start > max) {
			err = -EFBIG;
			break;
		}
	}
	if (err)
		b->len = start;
	if (b->data)
		b->data[b->len] = '\0';
	return err;
}

int buf__read_file(struct buf *b, const char *path, size_t max)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	return buf__read_fd(b, fd, max);
}

void buf__free(struct buf *b)
{
	if (!b)
		return;
	free(b->data);
	*b = (struct buf){ 0 };
}

int write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		p += n;
		len -= n;
	}
	return 0;
}
