/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fields of a tracepoint: what the text of its format says of them, and how to read them from
 * the raw data of a sample. The text comes from tracefs, or out of a perf.data file that anybody
 * may have made. libtraceevent is not used: see detect/tracepoint/event_format.h.
 */
#ifndef FRBPF_COMMON_FORMAT_FIELD_H
#define FRBPF_COMMON_FORMAT_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum format_storage {
	FORMAT_IN_PLACE, /* the field has the value */
	FORMAT_LOC,	 /* __data_loc: it has offset and length of the value */
	FORMAT_REL_LOC,	 /* __rel_loc: the same, but the offset counts from the end of the field */
};

struct format_field {
	uint32_t offset, size; /* bytes, within the raw data of a sample; size 0: no such field */
	bool is_signed;
	bool is_text; /* characters */
	enum format_storage storage;
};

/* "field:TYPE NAME[N];\toffset:8;\tsize:4;\tsigned:1;" */
struct format_line {
	const char *type, *name; /* point into the line; no NUL */
	size_t type_len, name_len;
	size_t full_len; /* of the name with its "[N]" */
	bool is_array;
	uint32_t n; /* number of elements; 0: not declared */
	struct format_field field;
};

/* Find the text after @key at the start of a line. NULL: no line begins with @key. */
const char *format_text__after(const char *text, const char *end, const char *key);
/*
 * The number in the line "ID: 372", for perf_event_attr.config. False: there is none of 32 bits;
 * @ret is as it was.
 */
bool format_text__id(const char *text, size_t len, uint64_t *ret);
/*
 * Take the next line that declares a field, from *@at on, and move *@at after it. False: there is
 * none up to @end.
 */
bool format_text__next(const char **at, const char *end, struct format_line *ret);

bool format_line__type_has(const struct format_line *l, const char *word);
/* Is it one of the fields that every tracepoint has: common_pid, ...? */
bool format_line__is_common(const struct format_line *l);

/*
 * Find the field called @name in the text of a format. False: none, or its size is 0; @ret is as it
 * was.
 */
bool format_field__find(const char *text, size_t len, const char *name, struct format_field *ret);
/*
 * Get the number in a field. False: @raw is too short, or the field is not a number of 1, 2, 4 or 8
 * bytes.
 */
bool format_field__number(const struct format_field *f, const void *raw, size_t raw_size,
			  uint64_t *ret);
/*
 * Find the bytes of a text, up to its NUL or its end, and their number. The result points into
 * @raw. NULL: @raw is too short.
 */
const char *format_field__bytes(const struct format_field *f, const void *raw, size_t raw_size,
				size_t *ret_len);
/* Copy a text: at most @size - 1 bytes, and a NUL. False: @raw is too short; @to is as it was. */
bool format_field__text(const struct format_field *f, const void *raw, size_t raw_size, char *to,
			size_t size);

#endif
