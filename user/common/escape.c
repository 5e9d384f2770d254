// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/escape.h"

/* Length of the UTF-8 sequence at @s; 0: it is invalid, or not allowed in XML. */
static size_t utf8_sequence(const char *s)
{
	const unsigned char *u = (const unsigned char *)s;
	size_t n = u[0] < 0x80 ? 1 : u[0] < 0xc2 ? 0 : u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : 4;
	uint32_t c = n == 2 ? u[0] & 0x1f : n == 3 ? u[0] & 0x0f : u[0] & 0x07;

	if (n <= 1)
		return n && u[0] >= ' ' && u[0] != 0x7f;
	if (u[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((u[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (u[i] & 0x3f);
	}
	if (n == 2) /* C1 control characters */
		return c < 0xa0 ? 0 : n;
	/* overlong; surrogates; non-characters; marks that change the writing direction */
	if (n == 3)
		return c < 0x800 || (c >= 0xd800 && c < 0xe000) || c > 0xfffd ||
				       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069)
			       ? 0
			       : n;
	return c < 0x10000 || c > 0x10ffff ? 0 : n;
}

/* The escape of an ASCII character; NULL: it needs none. */
typedef const char *(*replace_fn)(const char *s);

static int escape_text(struct buf *b, const char *s, replace_fn replace)
{
	int err = 0;

	while (*s && !err) {
		size_t n = utf8_sequence(s);
		const char *with = n == 1 && replace ? replace(s) : NULL;

		if (!n)
			err = buf__add_str(b, "?");
		else if (with)
			err = buf__add_str(b, with);
		else
			err = buf__add(b, s, n);
		s += n ? n : 1;
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
