// SPDX-License-Identifier: GPL-2.0-only
#include <jansson.h>
#include <stdlib.h>

#include "common/json_alloc.h"

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
