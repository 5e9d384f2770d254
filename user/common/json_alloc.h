/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether a JSON text lacks something. What is added to an object without memory is dropped, and nobody hears of it. */
#ifndef FRBPF_COMMON_JSON_ALLOC_H
#define FRBPF_COMMON_JSON_ALLOC_H

#include <stdbool.h>

/* Note failing allocations of jansson, from now on. Before anything is made. */
void json_alloc__watch(void);
/* Something else that the text is made of failed, for want of memory. */
void json_alloc__note_failure(void);
/* Did one fail? */
bool json_alloc__failed(void);

#endif
