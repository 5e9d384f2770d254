// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <string.h>

#include "reader/format_field.h"

/* "KEY:123;" in a line. */
static bool find_number(const char *line, size_t len, const char *key, uint32_t *ret)
{
	const char *p = memmem(line, len, key, strlen(key)), *end = line + len;
	uint32_t v = 0;

	if (!p)
		return false;
	p += strlen(key);
	if (p == end || !isdigit((unsigned char)*p))
		return false;
	for (; p < end && isdigit((unsigned char)*p); p++) {
		if (v > UINT32_MAX / 16)
			return false;
		v = v * 10 + (*p - '0');
	}
	*ret = v;
	return true;
}

/* Is @name the last word before the first ';' (or '[') of "field:char prev_comm[16];"? */
static bool declares(const char *line, size_t len, const char *name)
{
	const char *end = memchr(line, ';', len), *bracket;
	size_t n = strlen(name);

	if (!end)
		return false;
	bracket = memchr(line, '[', end - line);
	if (bracket)
		end = bracket;
	return (size_t)(end - line) > n && !memcmp(end - n, name, n) &&
	       (end[-(ptrdiff_t)n - 1] == ' ' || end[-(ptrdiff_t)n - 1] == '*');
}

bool format_field__find(const char *text, size_t len, const char *name, struct format_field *ret)
{
	static const char key[] = "field:";
	const char *end = text + len, *line, *eol;

	for (line = text; line < end; line = eol + 1) {
		struct format_field f;
		uint32_t is_signed = 0;
		size_t n;

		eol = memchr(line, '\n', end - line) ?: end;
		while (line < eol && isspace((unsigned char)*line))
			line++;
		n = eol - line;
		if (n < sizeof(key) || memcmp(line, key, sizeof(key) - 1) ||
		    !declares(line, n, name))
			continue;
		if (!find_number(line, n, "offset:", &f.offset) ||
		    !find_number(line, n, "size:", &f.size) || !f.size)
			return false;
		find_number(line, n, "signed:", &is_signed);
		f.is_signed = is_signed;
		*ret = f;
		return true;
	}
	return false;
}

static bool fits(const struct format_field *f, size_t raw_size)
{
	return f->size && f->offset <= raw_size && f->size <= raw_size - f->offset;
}

bool format_field__number(const struct format_field *f, const void *raw, size_t raw_size,
			  uint64_t *ret)
{
	const char *p = (const char *)raw + f->offset;
	union {
		int8_t s8;
		int16_t s16;
		int32_t s32;
		uint8_t u8;
		uint16_t u16;
		uint32_t u32;
		uint64_t u64;
	} v;

	if (!fits(f, raw_size) || f->size > sizeof(v))
		return false;
	memcpy(&v, p, f->size);
	switch (f->size) {
	case 1:
		*ret = f->is_signed ? (uint64_t)v.s8 : v.u8;
		return true;
	case 2:
		*ret = f->is_signed ? (uint64_t)v.s16 : v.u16;
		return true;
	case 4:
		*ret = f->is_signed ? (uint64_t)v.s32 : v.u32;
		return true;
	case 8:
		*ret = v.u64;
		return true;
	default:
		return false;
	}
}

bool format_field__text(const struct format_field *f, const void *raw, size_t raw_size, char *to,
			size_t size)
{
	size_t n;

	if (!fits(f, raw_size) || !size)
		return false;
	n = strnlen((const char *)raw + f->offset, f->size < size - 1 ? f->size : size - 1);
	memcpy(to, (const char *)raw + f->offset, n);
	to[n] = '\0';
	return true;
}
