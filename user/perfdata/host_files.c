// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "perfdata/host_sections.h"

#define FILE_MAX 65536
#define LINES_MAX                                                                                  \
	512 /* /proc/cpuinfo repeats the same keys for each CPU: the first lines have all of them */

__attribute__((format(printf, 3, 0))) static int host_files__vtext(const char *root, struct buf *b,
								   const char *fmt, va_list ap)
{
	size_t start = b->len;
	char path[PATH_MAX];
	int n, len, err;

	n = snprintf(path, sizeof(path), "%s", root);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	len = vsnprintf(path + n, sizeof(path) - n, fmt, ap);
	if (len < 0 || (size_t)len >= sizeof(path) - n)
		return -ENAMETOOLONG;
	err = buf__read_file(b, path, FILE_MAX);
	if (err)
		return err;
	/* the value becomes a string, which a NUL would cut */
	if (b->len > start && memchr(b->data + start, '\0', b->len - start)) {
		b->len = start;
		return -EINVAL;
	}
	while (b->len > start && isspace((unsigned char)b->data[b->len - 1]))
		b->data[--b->len] = '\0';
	return 0;
}

int host_files__text(const char *root, struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int err;

	va_start(ap, fmt);
	err = host_files__vtext(root, b, fmt, ap);
	va_end(ap);
	return err;
}

static int parse_u64(const char *s, int base, char **ret_end, uint64_t *ret)
{
	unsigned long long v;

	if (!isxdigit((unsigned char)*s)) /* strtoull would take a sign */
		return -EINVAL;
	errno = 0;
	v = strtoull(s, ret_end, base);
	if (errno || *ret_end == s)
		return -EINVAL;
	*ret = v;
	return 0;
}

int host_files__u64(const char *root, int base, uint64_t *ret, const char *fmt, ...)
{
	struct buf b = { 0 };
	char *end;
	uint64_t v;
	va_list ap;
	int err;

	va_start(ap, fmt);
	err = host_files__vtext(root, &b, fmt, ap);
	va_end(ap);
	err = err ?: b.len ? parse_u64(b.data, base, &end, &v) : -EINVAL;
	if (!err && *end)
		err = -EINVAL;
	if (!err)
		*ret = v;
	buf__free(&b);
	return err;
}

/* Returns the value of @line if its key is @key, with blanks squeezed in place; else NULL. */
static char *cpuinfo_line_value(char *line, const char *key)
{
	size_t len = strlen(key);
	char *from, *to;

	if (strncmp(line, key, len))
		return NULL;
	line += len;
	line += strspn(line, " \t");
	if (*line++ != ':')
		return NULL;
	line += strspn(line, " \t");
	for (from = to = line; *from; from++) {
		if (!isspace((unsigned char)*from))
			*to++ = *from;
		else if (to > line && to[-1] != ' ')
			*to++ = ' ';
	}
	while (to > line && to[-1] == ' ')
		to--;
	*to = '\0';
	return line;
}

int host_files__field(const char *root, const char *path, const char *key, struct buf *b)
{
	_cleanup_fclose_ FILE *f = NULL;
	_cleanup_free_ char *line = NULL;
	char full[PATH_MAX];
	size_t cap = 0;
	int i;

	if ((size_t)snprintf(full, sizeof(full), "%s%s", root, path) >= sizeof(full))
		return -ENAMETOOLONG;
	f = fopen(full, "re");
	if (!f)
		return -errno;
	for (i = 0; i < LINES_MAX && getline(&line, &cap, f) > 0; i++) {
		char *value = cpuinfo_line_value(line, key);

		if (value)
			return buf__add_str(b, value);
	}
	return -ENOENT;
}

int host_files__field_u64(const char *root, const char *path, const char *key, uint64_t *ret)
{
	struct buf b = { 0 };
	char *end;
	int err = host_files__field(root, path, key, &b);

	err = err ?: parse_u64(b.data, 10, &end, ret);
	buf__free(&b);
	return err;
}
