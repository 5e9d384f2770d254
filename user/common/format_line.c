// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <string.h>

#include "common/format_line.h"

bool format_number__parse(const char *s, const char *end, uint64_t *ret)
{
	const char *p = s;
	uint64_t v = 0;

	for (; p < end && isdigit((unsigned char)*p); p++) {
		if (v > UINT32_MAX)
			return false;
		v = v * 10 + (*p - '0');
	}
	if (p == s)
		return false;
	*ret = v;
	return true;
}

/* The value of "KEY:" in the line. */
static bool find_number(const char *line, const char *end, const char *key, uint32_t *ret)
{
	const char *p = memmem(line, end - line, key, strlen(key));
	uint64_t v;

	if (!p || !format_number__parse(p + strlen(key), end, &v) || v > UINT32_MAX)
		return false;
	*ret = v;
	return true;
}

static const char *without_blanks(const char *start, const char *end)
{
	while (end > start && isspace((unsigned char)end[-1]))
		end--;
	return end;
}

/* Parse a declaration up to @end: "char comm[16]", "__data_loc char[] name", "const void * p". */
static bool take_declaration(struct format_line *l, const char *s, const char *end)
{
	uint64_t n;

	end = without_blanks(s, end);
	while (end > s && end[-1] == ']') {
		const char *open = memrchr(s, '[', end - s);

		if (!open)
			return false;
		if (!l->is_array && format_number__parse(open + 1, end, &n) && n <= UINT32_MAX)
			l->n = n;
		l->is_array = true;
		end = without_blanks(s, open);
	}
	l->name = end;
	while (l->name > s && (isalnum((unsigned char)l->name[-1]) || l->name[-1] == '_'))
		l->name--;
	l->name_len = end - l->name;
	l->type = s;
	l->type_len = without_blanks(s, l->name) - s;
	l->is_array |= l->type_len && s[l->type_len - 1] == ']';
	return l->name_len && l->type_len;
}

bool format_line__parse(const char *line, const char *end, struct format_line *ret)
{
	static const char key[] = "field:";
	const size_t len = sizeof(key) - 1;
	struct format_line l = { 0 };
	const char *semicolon;

	while (line < end && isspace((unsigned char)*line))
		line++;
	if ((size_t)(end - line) < len || memcmp(line, key, len))
		return false;
	semicolon = memchr(line, ';', end - line);
	if (!semicolon || !take_declaration(&l, line + len, semicolon) ||
	    !find_number(semicolon, end, "offset:", &l.offset) ||
	    !find_number(semicolon, end, "size:", &l.size))
		return false;
	find_number(semicolon, end, "signed:", &l.is_signed); /* old kernels do not have it */
	*ret = l;
	return true;
}
