/* SPDX-License-Identifier: GPL-2.0-only */
/* A set of event ids, made once and asked for every record of a file. { 0 } is an empty one. */
#ifndef FRBPF_PERFDATA_ID_SET_H
#define FRBPF_PERFDATA_ID_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct id_set {
	uint64_t *slots;    /* open addressing, 0: free; owned */
	unsigned int shift; /* 64 - log2 of the number of slots */
};

/* Room for @n ids. 0 or -ENOMEM. */
int id_set__init(struct id_set *s, size_t n);
/* 0, -EEXIST, or -EINVAL for 0, which no event has. At most as many as id_set__init() was told. */
int id_set__add(struct id_set *s, uint64_t id);
void id_set__free(struct id_set *s);

static inline size_t id_set__slot(const struct id_set *s, uint64_t id)
{
	return (id * 0x9e3779b97f4a7c15ULL) >>
	       s->shift; /* Fibonacci hashing: ids are consecutive */
}

static inline bool id_set__has(const struct id_set *s, uint64_t id)
{
	size_t mask = UINT64_MAX >> s->shift, i;

	for (i = id_set__slot(s, id); s->slots[i]; i = (i + 1) & mask)
		if (s->slots[i] == id)
			return true;
	return false;
}

#endif
