// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "symbols/text_symbols.h"

/* Parse a hex number and the blank after it. */
static bool take_hex(const char **p, const char *end, uint64_t *ret)
{
	const char *s = *p;
	uint64_t v = 0;
	int digits = 0;

	if (end - s > 2 && s[0] == '0' && s[1] == 'x')
		s += 2;
	for (; s < end && isxdigit((unsigned char)*s); s++) {
		v = v << 4 |
		    (isdigit((unsigned char)*s) ? *s - '0' : tolower((unsigned char)*s) - 'a' + 10);
		digits++;
	}
	if (!digits || digits > 16 || s == end || *s != ' ')
		return false;
	*p = s + 1;
	*ret = v;
	return true;
}

/* Is "[@module]" at @p? With @module NULL: is nothing there? */
static bool in_module(const char *p, const char *end, const char *module)
{
	size_t len = module ? strlen(module) : 0;

	if (!module)
		return p == end;
	if (!strcmp(module, TEXT_SYMBOLS_ANY))
		return true;
	return (size_t)(end - p) >= len + 2 && p[0] == '[' && !memcmp(p + 1, module, len) &&
	       p[len + 1] == ']';
}

static bool text_has_name(const char *p, const char *end, const char *name)
{
	size_t len = strlen(name);

	return (size_t)(end - p) == len && !memcmp(p, name, len);
}

static int add_kallsyms_line(const char *p, const char *end, const char *module,
			     struct symbol_table *t, struct kernel_text *text)
{
	const char *name, *name_end;
	uint64_t addr;
	char type;

	if (!take_hex(&p, end, &addr) || end - p < 3 || !addr || p[1] != ' ')
		return 0;
	type = p[0];
	name = p + 2;
	for (name_end = name; name_end < end && !isspace((unsigned char)*name_end); name_end++)
		;
	for (p = name_end; p < end && isspace((unsigned char)*p); p++)
		;
	if (!in_module(p, end, module))
		return 0;
	if (!text->start &&
	    (text_has_name(name, name_end, "_text") || text_has_name(name, name_end, "_stext")))
		text->start = addr;
	else if (text_has_name(name, name_end, "_etext"))
		text->end = addr;
	/* data symbols are taken, too, as in perf: they end the function before them */
	if (!strchr("tTwWdDbB", type))
		return 0;
	return symbol_table__add(t, addr, 0, 0, name, name_end - name, SYMBOL_KALLSYMS);
}

int text_symbols__kallsyms(const struct buf *text, const char *module, struct symbol_table *t,
			   struct kernel_text *ret)
{
	const char *end = text->data + text->len, *line, *eol;
	int err = 0;

	for (line = text->data; line < end && !err; line = eol + 1) {
		eol = memchr(line, '\n', end - line) ?: end;
		err = add_kallsyms_line(line, eol, module, t, ret);
	}
	return err;
}

int text_symbols__perf_map(const struct buf *text, struct symbol_table *t)
{
	const char *end = text->data + text->len, *line, *eol, *p;
	uint64_t start, size;
	int err = 0;

	for (line = text->data; line < end && !err; line = eol + 1) {
		eol = memchr(line, '\n', end - line) ?: end;
		p = line;
		if (take_hex(&p, eol, &start) && take_hex(&p, eol, &size) && p < eol && size)
			err = symbol_table__add(t, start, size, 0, p, eol - p, SYMBOL_GLOBAL);
	}
	return err;
}

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
