// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <string.h>

#include "common/format_field.h"

/* ---- the text ---- */

/* Digits at the start of @s, up to @end. False: there are none, or the number has over 32 bits. */
static bool parse_format_number(const char *s, const char *end, uint32_t *ret)
{
	const char *p = s;
	uint64_t v = 0;

	for (; p < end && isdigit((unsigned char)*p); p++) {
		v = v * 10 + (*p - '0');
		if (v > UINT32_MAX)
			return false;
	}
	if (p == s)
		return false;
	*ret = v;
	return true;
}

/* The value of "KEY:" in the line. */
static bool find_format_number(const char *line, const char *end, const char *key, uint32_t *ret)
{
	const char *p = memmem(line, end - line, key, strlen(key));

	return p && parse_format_number(p + strlen(key), end, ret);
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
	const char *full_end = without_blanks(s, end);
	uint32_t n;

	end = full_end;
	while (end > s && end[-1] == ']') {
		const char *open = memrchr(s, '[', end - s);

		if (!open)
			return false;
		if (!l->is_array && parse_format_number(open + 1, end, &n))
			l->n = n;
		l->is_array = true;
		end = without_blanks(s, open);
	}
	l->name = end;
	while (l->name > s && (isalnum((unsigned char)l->name[-1]) || l->name[-1] == '_'))
		l->name--;
	l->name_len = end - l->name;
	l->full_len = full_end - l->name;
	l->type = s;
	l->type_len = without_blanks(s, l->name) - s;
	l->is_array |= l->type_len && s[l->type_len - 1] == ']';
	return l->name_len && l->type_len;
}

static bool parse_format_line(const char *line, const char *end, struct format_line *ret)
{
	static const char key[] = "field:";
	const size_t len = sizeof(key) - 1;
	struct format_line l = { 0 };
	const char *semicolon;
	uint32_t is_signed = 0;

	while (line < end && isspace((unsigned char)*line))
		line++;
	if ((size_t)(end - line) < len || memcmp(line, key, len))
		return false;
	semicolon = memchr(line, ';', end - line);
	if (!semicolon || !take_declaration(&l, line + len, semicolon) ||
	    !find_format_number(semicolon, end, "offset:", &l.field.offset) ||
	    !find_format_number(semicolon, end, "size:", &l.field.size))
		return false;
	find_format_number(semicolon, end, "signed:", &is_signed); /* old kernels do not have it */
	l.field.is_signed = is_signed;
	l.field.is_text =
		l.is_array && format_line__type_has(&l, "char") && !format_line__type_has(&l, "*");
	if (format_line__type_has(&l, "__data_loc"))
		l.field.storage = FORMAT_LOC;
	else if (format_line__type_has(&l, "__rel_loc"))
		l.field.storage = FORMAT_REL_LOC;
	*ret = l;
	return true;
}

bool format_line__type_has(const struct format_line *l, const char *word)
{
	return memmem(l->type, l->type_len, word, strlen(word));
}

bool format_line__is_common(const struct format_line *l)
{
	static const char common[] = "common_";

	return l->name_len >= sizeof(common) - 1 && !memcmp(l->name, common, sizeof(common) - 1);
}

static const char *format_line_end(const char *line, const char *end)
{
	return memchr(line, '\n', end - line) ?: end;
}

const char *format_text__after(const char *text, const char *end, const char *key)
{
	const size_t len = strlen(key);
	const char *line, *eol;

	for (line = text; line < end; line = eol + 1) {
		eol = format_line_end(line, end);
		if ((size_t)(eol - line) >= len && !memcmp(line, key, len))
			return line + len;
	}
	return NULL;
}

bool format_text__id(const char *text, size_t len, uint64_t *ret)
{
	const char *end = text + len, *line = format_text__after(text, end, "ID: ");
	uint32_t id;

	if (!line || !parse_format_number(line, end, &id))
		return false;
	*ret = id;
	return true;
}

bool format_text__next(const char **at, const char *end, struct format_line *ret)
{
	const char *line, *eol;

	for (line = *at; line < end; line = eol + 1) {
		eol = format_line_end(line, end);
		if (!parse_format_line(line, eol, ret))
			continue;
		*at = eol < end ? eol + 1 : end;
		return true;
	}
	return false;
}

bool format_field__find(const char *text, size_t len, const char *name, struct format_field *ret)
{
	const char *end = text + len;
	size_t name_len = strlen(name);
	struct format_line l;

	while (format_text__next(&text, end, &l)) {
		if (l.name_len != name_len || memcmp(l.name, name, name_len))
			continue;
		if (l.field.size)
			*ret = l.field;
		return l.field.size;
	}
	return false;
}

/* ---- the raw data of a sample ---- */

static bool field_fits(uint32_t offset, uint32_t size, size_t raw_size)
{
	return offset <= raw_size && size <= raw_size - offset;
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

	if (!field_fits(f->offset, f->size, raw_size) || f->storage != FORMAT_IN_PLACE ||
	    f->size > sizeof(v))
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

const char *format_field__bytes(const struct format_field *f, const void *raw, size_t raw_size,
				size_t *ret_len)
{
	uint32_t offset = f->offset, size = f->size, loc;

	if (!size || !field_fits(offset, size, raw_size))
		return NULL;
	if (f->storage != FORMAT_IN_PLACE) {
		if (size != sizeof(loc))
			return NULL;
		memcpy(&loc, (const char *)raw + offset, sizeof(loc));
		offset = (loc & 0xffff) + (f->storage == FORMAT_REL_LOC ? offset + size : 0);
		size = loc >> 16;
		if (!field_fits(offset, size, raw_size))
			return NULL;
	}
	*ret_len = strnlen((const char *)raw + offset, size);
	return (const char *)raw + offset;
}

bool format_field__text(const struct format_field *f, const void *raw, size_t raw_size, char *to,
			size_t size)
{
	size_t len;
	const char *s = format_field__bytes(f, raw, raw_size, &len);

	if (!s || !size)
		return false;
	if (len > size - 1)
		len = size - 1;
	memcpy(to, s, len);
	to[len] = '\0';
	return true;
}
