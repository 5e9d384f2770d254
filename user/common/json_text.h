/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of tasks, files, hosts and rules are bytes that anybody chooses, and JSON takes UTF-8 alone. */
#ifndef FRBPF_COMMON_JSON_TEXT_H
#define FRBPF_COMMON_JSON_TEXT_H

#include <jansson.h>
#include <stddef.h>

/* At most @max bytes of @s, to its end; where they are not UTF-8, with '?' for each byte above ASCII.
 * NULL: out of memory. */
json_t *json_text(const char *s, size_t max);

/* All of it. NULL becomes JSON's null. */
static inline json_t *json_text_or_null(const char *s)
{
	return s ? json_text(s, (size_t)-1) : json_null();
}

/* Calls @change for each string in @j, however deep. Keys of objects are left alone. */
void json_each_string(json_t *j, void (*change)(json_t *string));

#endif
