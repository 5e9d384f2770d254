/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the fields of tracepoints from a sample's raw data, by the text of their format. */
#ifndef FRBPF_PERFDATA_FORMAT_FIELD_H
#define FRBPF_PERFDATA_FORMAT_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct format_field {
	uint32_t offset, size; /* bytes; size 0: no such field */
	bool is_signed;
	bool is_text;	/* an array of characters */
	bool is_placed; /* __data_loc: it has offset and length of the text */
};

/* Find "field: TYPE NAME;" or "field: TYPE NAME[N];" in the lines of @text. False: none. */
bool format_field__find(const char *text, size_t len, const char *name, struct format_field *ret);

/* Get the number in a field. False: @raw is too short, or the size is not 1, 2, 4 or 8. */
bool format_field__number(const struct format_field *f, const void *raw, size_t raw_size,
			  uint64_t *ret);

/* Copy the text of a field, at most @size - 1 bytes and a NUL. False: @raw is too short. */
bool format_field__text(const struct format_field *f, const void *raw, size_t raw_size, char *to,
			size_t size);

#endif
