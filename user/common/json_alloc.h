/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Detects incomplete JSON. When memory runs out, jansson drops what was to be added to an object,
 * silently.
 */
#ifndef FRBPF_COMMON_JSON_ALLOC_H
#define FRBPF_COMMON_JSON_ALLOC_H

#include <stdbool.h>

/* Note failed allocations of jansson from now on. Call it before any JSON is made. */
void json_alloc__watch(void);
/* Note another allocation that failed, of something that goes into JSON. */
void json_alloc__note_failure(void);
/* Did an allocation fail? */
bool json_alloc__failed(void);

#endif
