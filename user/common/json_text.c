// SPDX-License-Identifier: GPL-2.0-only
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/json_text.h"

static bool failed;

void json_alloc__note_failure(void)
{
	__atomic_store_n(&failed, true, __ATOMIC_RELAXED);
}

static void *json_allocate(size_t size)
{
	void *p = malloc(size);

	if (!p && size)
		json_alloc__note_failure();
	return p;
}

void json_alloc__watch(void)
{
	failed = false;
	json_set_alloc_funcs(json_allocate, free);
}

bool json_alloc__failed(void)
{
	return __atomic_load_n(&failed, __ATOMIC_RELAXED);
}

json_t *json_text(const char *s, size_t max)
{
	size_t n = strnlen(s, max);
	json_t *j = json_stringn(s, n);
	_cleanup_free_ char *clean = j ? NULL : strndup(s, n);

	if (!clean)
		return j;
	for (size_t i = 0; i < n; i++)
		clean[i] = (unsigned char)s[i] < 0x80 ? s[i] : '?';
	return json_stringn(clean, n);
}

void json_each_string(json_t *j, void (*change)(json_t *string))
{
	const char *key;
	json_t *v;
	size_t i;

	if (json_is_string(j))
		change(j);
	json_array_foreach (j, i, v)
		json_each_string(v, change);
	json_object_foreach (j, key, v)
		json_each_string(v, change);
}
