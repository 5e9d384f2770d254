/* SPDX-License-Identifier: GPL-2.0-only */
/* Events that perf knows by name on all machines: hardware, software, cache. */
#ifndef FRBPF_RECORD_EVENT_NAMES_H
#define FRBPF_RECORD_EVENT_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct event_name {
	const char *name;
	uint32_t type; /* PERF_TYPE_HARDWARE or PERF_TYPE_SOFTWARE */
	uint64_t config;
	const char *meaning; /* one line */
};
extern const struct event_name event_names[]; /* ends with name NULL */

/* Find "cycles", "cs" and the like. 0 or -ENOENT. */
int event_names__find(const char *s, size_t len, uint32_t *ret_type, uint64_t *ret_config);

/*
 * Find a cache event such as "L1-dcache-load-misses"; *ret_config is for PERF_TYPE_HW_CACHE. 0;
 * -ENOENT: no such name; -EINVAL: no cache has this operation.
 */
int event_names__find_cache(const char *s, size_t len, uint64_t *ret_config);

/* Call @fn for the name of every cache event, as `perf list` spells it. */
#define EVENT_NAMES_CACHE_MAX 32 /* bytes of a name */
void event_names__each_cache(void (*fn)(const char *name, void *arg), void *arg);

/* Write the known name nearest to @s to @buf. Returns @buf; NULL: none is near. */
const char *event_names__nearest(const char *s, size_t len, char *buf, size_t size);

#endif
