/* SPDX-License-Identifier: GPL-2.0-only */
/* Get members of an object; "" and 0 for missing ones. */
#ifndef FRBPF_CMD_JSON_FIELDS_H
#define FRBPF_CMD_JSON_FIELDS_H

#include <jansson.h>
#include <stdint.h>

static inline const char *str(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key)) ?: "";
}

static inline uint64_t num(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

#endif
