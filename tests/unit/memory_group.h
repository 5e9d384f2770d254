/* SPDX-License-Identifier: GPL-2.0-only */
/* A memory cgroup with a limit, of version 1 or 2. */
#ifndef TESTS_UNIT_MEMORY_GROUP_H
#define TESTS_UNIT_MEMORY_GROUP_H

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct memory_group {
	char path[128];
};

static inline int memory_group_write(const struct memory_group *g, const char *file,
				     const char *text)
{
	char path[192];
	FILE *f;
	int r;

	snprintf(path, sizeof(path), "%s/%s", g->path, file);
	f = fopen(path, "r+e"); /* without creating it */
	if (!f)
		return -1;
	r = fputs(text, f);
	return fclose(f) || r < 0 ? -1 : 0;
}

static inline void memory_group_remove(const struct memory_group *g)
{
	for (int i = 0; i < 100 && rmdir(g->path) && errno == EBUSY; i++)
		usleep(20000);
}

/* Returns 0, or -1 if it is not possible here. */
static inline int memory_group_make(struct memory_group *g, const char *bytes)
{
	static const struct {
		const char *root, *limit;
	} kinds[] = {
		{ "/sys/fs/cgroup", "memory.max" },
		{ "/sys/fs/cgroup/memory", "memory.limit_in_bytes" },
	};

	for (int i = 0; i < 2; i++) {
		snprintf(g->path, sizeof(g->path), "%s/frbpf-unit-%d", kinds[i].root, getpid());
		if (mkdir(g->path, 0755))
			continue;
		if (!memory_group_write(g, kinds[i].limit, bytes))
			return 0;
		memory_group_remove(g);
	}
	return -1;
}

#endif
