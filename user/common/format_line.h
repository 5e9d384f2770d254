/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The lines of a tracepoint's format that declare a field:
 * "field:TYPE NAME[N];\toffset:8;\tsize:4;\tsigned:1;". The text comes from tracefs, or out of a perf.data file that
 * anybody may have made.
 */
#ifndef FRBPF_COMMON_FORMAT_LINE_H
#define FRBPF_COMMON_FORMAT_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct format_line {
	const char *type, *name; /* points into the line; no NUL */
	size_t type_len, name_len;
	bool is_array;
	uint32_t n;	       /* elements, as declared; 0: no array */
	uint32_t offset, size; /* bytes, within the raw data of a sample */
	uint32_t is_signed;
};

/* Digits at the start of @s, up to @end. False: there are none, or too many. */
bool format_number__parse(const char *s, const char *end, uint64_t *ret);
/* Parse the line from @line to @end. False: it declares no field. */
bool format_line__parse(const char *line, const char *end, struct format_line *ret);

#endif
