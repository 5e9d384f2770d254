// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "symbols/text_chunks.h"

#define CHUNK ((size_t)256 << 10)

/* Bytes up to the end of the last whole line; all bytes at the end of the file, or if one line
 * fills the buffer. */
static size_t whole_lines(const char *data, size_t len, bool last)
{
	const char *eol = last ? NULL : memrchr(data, '\n', len);

	if (eol)
		return eol - data + 1;
	return last || len == CHUNK ? len : 0;
}

int text_chunks__each(int fd, size_t max, int (*fn)(const struct buf *text, void *arg), void *arg)
{
	_cleanup_free_ char *data = malloc(CHUNK);
	size_t len = 0, total = 0, use;
	ssize_t n = 1;
	int err = 0;

	if (!data)
		return -ENOMEM;
	while (n && !err) {
		n = read(fd, data + len, CHUNK - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		len += n;
		total += n;
		if (total > max)
			return -EFBIG;
		use = whole_lines(data, len, !n);
		if (use)
			err = fn(&(struct buf){ .data = data, .len = use }, arg);
		len -= use;
		memmove(data, data + use, len);
	}
	return err;
}
