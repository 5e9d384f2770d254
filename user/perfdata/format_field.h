/* SPDX-License-Identifier: GPL-2.0-only */
/* Fields of tracepoints, as the text of their format places them in a sample's raw data. */
#ifndef FRBPF_PERFDATA_FORMAT_FIELD_H
#define FRBPF_PERFDATA_FORMAT_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct format_field {
	uint32_t offset, size; /* bytes; size 0: there is no such field */
	bool is_signed;
	bool is_text;	/* of characters */
	bool is_placed; /* __data_loc: what it holds is where the text lies, and how long it is */
};

/* Find "field: TYPE NAME;" or "field: TYPE NAME[N];" among the lines of @text. False: there is none. */
bool format_field__find(const char *text, size_t len, const char *name, struct format_field *ret);

/* The number in the field. False: @raw does not reach that far, or it is no number of up to 8 bytes. */
bool format_field__number(const struct format_field *f, const void *raw, size_t raw_size,
			  uint64_t *ret);

/* The text in the field or where that says, cut where it ends or @size - 1 bytes are used. False as above. */
bool format_field__text(const struct format_field *f, const void *raw, size_t raw_size, char *to,
			size_t size);

#endif
