// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>

#include "perfdata/id_set.h"

int id_set__init(struct id_set *s, size_t n)
{
	unsigned int bits = 4;

	while (bits < 32 &&
	       (1ULL << bits) / 2 < n) /* at most half full: short probes, and an end to them */
		bits++;
	if ((1ULL << bits) / 2 < n)
		return -ENOMEM;
	s->slots = calloc(1ULL << bits, sizeof(*s->slots));
	if (!s->slots)
		return -ENOMEM;
	s->shift = 64 - bits;
	return 0;
}

int id_set__add(struct id_set *s, uint64_t id)
{
	size_t mask = UINT64_MAX >> s->shift, i;

	if (!id)
		return -EINVAL;
	for (i = id_set__slot(s, id); s->slots[i]; i = (i + 1) & mask)
		if (s->slots[i] == id)
			return -EEXIST;
	s->slots[i] = id;
	return 0;
}

void id_set__free(struct id_set *s)
{
	free(s->slots);
	*s = (struct id_set){ 0 };
}
