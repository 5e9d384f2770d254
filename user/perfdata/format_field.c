// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "common/format_line.h"
#include "perfdata/format_field.h"

static bool has_word(const struct format_line *l, const char *word)
{
	return memmem(l->type, l->type_len, word, strlen(word));
}

bool format_field__find(const char *text, size_t len, const char *name, struct format_field *ret)
{
	const char *end = text + len, *line, *eol;
	size_t name_len = strlen(name);
	struct format_line l;

	for (line = text; line < end; line = eol + 1) {
		eol = memchr(line, '\n', end - line) ?: end;
		if (!format_line__parse(line, eol, &l) || l.name_len != name_len ||
		    memcmp(l.name, name, name_len))
			continue;
		if (!l.size)
			return false;
		*ret = (struct format_field){ l.offset, l.size, l.is_signed,
					      l.is_array && has_word(&l, "char"),
					      has_word(&l, "__data_loc") };
		return true;
	}
	return false;
}

static bool field_fits(const struct format_field *f, size_t raw_size)
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

	if (!field_fits(f, raw_size) || f->size > sizeof(v))
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
	struct format_field at = *f;
	uint32_t place;
	size_t n;

	if (!field_fits(f, raw_size) || !size)
		return false;
	if (f->is_placed) {
		if (f->size != sizeof(place))
			return false;
		memcpy(&place, (const char *)raw + f->offset, sizeof(place));
		at = (struct format_field){ place & 0xffff, place >> 16 };
		if (!field_fits(&at, raw_size))
			return false;
	}
	n = strnlen((const char *)raw + at.offset, at.size < size - 1 ? at.size : size - 1);
	memcpy(to, (const char *)raw + at.offset, n);
	to[n] = '\0';
	return true;
}
