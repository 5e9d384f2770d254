// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "perfdata/record.h"
#include "sideband/kernel_maps.h"

#define KERNEL_PID UINT32_MAX

int kernel_maps__add(struct kernel_maps *k, const struct kernel_map *map)
{
	struct kernel_map *v = reallocarray(k->v, k->n + 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	k->v = v;
	v[k->n] = *map;
	v[k->n].name = strdup(map->name);
	if (!v[k->n].name)
		return -ENOMEM;
	k->n++;
	return 0;
}

void kernel_maps__free(struct kernel_maps *k)
{
	size_t i;

	for (i = 0; i < k->n; i++)
		free(k->v[i].name);
	free(k->v);
	*k = (struct kernel_maps){ 0 };
}

int kernel_maps__emit(const struct kernel_maps *k, uint64_t time, struct buf *out)
{
	const struct record_trailer t = { .pid = KERNEL_PID, .time = time };
	int err = 0;
	size_t i;

	for (i = 0; i < k->n && !err; i++)
		err = record__add_mmap(out, PERF_RECORD_MISC_KERNEL, KERNEL_PID, 0, k->v[i].start,
				       k->v[i].len, k->v[i].pgoff, k->v[i].name, &t);
	return err;
}
