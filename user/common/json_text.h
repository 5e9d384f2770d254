/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Makes JSON strings of names of tasks, files, hosts and rules. These may have any bytes, while
 * JSON takes only UTF-8. Also tells whether memory ran out while JSON was made.
 */
#ifndef FRBPF_COMMON_JSON_TEXT_H
#define FRBPF_COMMON_JSON_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Note failed allocations of jansson from now on. Call it before any JSON is made. When memory runs
 * out, jansson silently drops what was to be added to an object.
 */
void json_alloc__watch(void);
/* Note that another allocation failed, of data for JSON. */
void json_alloc__note_failure(void);
/* Did an allocation fail? */
bool json_alloc__failed(void);

/*
 * A string of at most @max bytes of @s. If they are not UTF-8, each byte above ASCII becomes '?'.
 * NULL: out of memory.
 */
json_t *json_text(const char *s, size_t max);

/* A string of all of @s; NULL becomes null. */
static inline json_t *json_text_or_null(const char *s)
{
	return s ? json_text(s, (size_t)-1) : json_null();
}

/* Call @change for each string in @j, at any depth, but not for keys of objects. */
void json_each_string(json_t *j, void (*change)(json_t *string));

#endif
