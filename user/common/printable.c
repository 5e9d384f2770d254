// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/printable.h"

/* Length of a UTF-8 sequence by its first byte, and the bits of the code point in that byte. */
static size_t utf8_length(unsigned char c, uint32_t *ret_bits)
{
	if (c >= 0xc2 && c < 0xe0) {
		*ret_bits = c & 0x1f;
		return 2;
	}
	if (c >= 0xe0 && c < 0xf0) {
		*ret_bits = c & 0x0f;
		return 3;
	}
	if (c >= 0xf0 && c < 0xf5) {
		*ret_bits = c & 0x07;
		return 4;
	}
	return 0;
}

size_t printable__char(const char *s, size_t len, bool *ret_printable)
{
	static const uint32_t smallest[] = { [2] = 0x80, [3] = 0x800, [4] = 0x10000 };
	unsigned char c = *s;
	uint32_t point = 0;
	size_t n;

	*ret_printable = false;
	if (c < 0x80) {
		*ret_printable = c >= 0x20 && c != 0x7f;
		return 1;
	}
	n = utf8_length(c, &point);
	if (!n || n > len)
		return 1;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 1;
		point = point << 6 | (s[i] & 0x3f);
	}
	if (point < smallest[n] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
		return 1;
	/* C1 controls; marks that change the writing direction, or are invisible; what XML lacks */
	*ret_printable = point >= 0xa0 && !(point >= 0x200b && point <= 0x200f) &&
			 !(point >= 0x2028 && point <= 0x202e) &&
			 !(point >= 0x2066 && point <= 0x2069) && point != 0x61c &&
			 point != 0xfeff && point != 0xfffe && point != 0xffff;
	return n;
}

char *make_printable(char *s)
{
	size_t left = strlen(s), n;
	bool printable;

	for (char *c = s; left; c += n, left -= n) {
		n = printable__char(c, left, &printable);
		if (!printable)
			memset(c, '?', n);
	}
	return s;
}

/* The escape of an ASCII character; NULL: it needs none. */
typedef const char *(*replace_fn)(const char *s);

static int escape_text(struct buf *b, const char *s, replace_fn replace)
{
	size_t left = strlen(s), n;
	bool printable;
	int err = 0;

	for (; left && !err; s += n, left -= n) {
		const char *with = NULL;

		n = printable__char(s, left, &printable);
		if (n == 1 && printable && replace)
			with = replace(s);
		if (!printable)
			err = buf__add(b, "????", n);
		else if (with)
			err = buf__add_str(b, with);
		else
			err = buf__add(b, s, n);
	}
	return err;
}

static const char *replace_xml(const char *s)
{
	switch (*s) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	}
	return NULL;
}

/*
 * Entities, not backslashes: a table cell cannot hold an escaped bar within code, and Markdown
 * passes HTML through. '@' would mention people, '#' issues; "://" makes a link.
 */
static const char *replace_markdown(const char *s)
{
	static const struct {
		char c;
		const char *with;
	} table[] = {
		{ '&', "&amp;" },  { '<', "&lt;" },  { '>', "&gt;" },  { '|', "&#124;" },
		{ '`', "&#96;" },  { '*', "&#42;" }, { '[', "&#91;" }, { ']', "&#93;" },
		{ '\\', "&#92;" }, { '#', "&#35;" }, { '@', "&#64;" }, { '~', "&#126;" },
		{ '!', "&#33;" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (table[i].c == *s)
			return table[i].with;
	}
	return strncmp(s, "://", 3) == 0 ? "&#58;" : NULL;
}

static const char *replace_github(const char *s)
{
	return *s == '%' ? "%25" : NULL;
}

static const char *replace_github_property(const char *s)
{
	return *s == '%' ? "%25" : *s == ':' ? "%3A" : *s == ',' ? "%2C" : NULL;
}

static const char *replace_quote(const char *s)
{
	return *s == '\'' ? "'\\''" : NULL;
}

int escape__xml(struct buf *b, const char *s)
{
	return escape_text(b, s, replace_xml);
}

int escape__markdown(struct buf *b, const char *s)
{
	return escape_text(b, s, replace_markdown);
}

int escape__plain(struct buf *b, const char *s)
{
	return escape_text(b, s, NULL);
}

int escape__github(struct buf *b, const char *s)
{
	return escape_text(b, s, replace_github);
}

int escape__github_property(struct buf *b, const char *s)
{
	return escape_text(b, s, replace_github_property);
}

int escape__shell(struct buf *b, const char *s)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789_-./=:,+%@";
	int err;

	if (*s && strspn(s, safe) == strlen(s))
		return buf__add_str(b, s);
	err = buf__add_str(b, "'");
	err = err ?: escape_text(b, s, replace_quote);
	return err ?: buf__add_str(b, "'");
}
