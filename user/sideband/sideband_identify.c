// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "sideband/sideband_core.h"

#define FILE_WAIT  3000000000ULL /* ns for one file */
#define WANTED_MAX 4096		 /* above it, slices read the build ids */

struct files {
	const struct task_model *base;
	struct unidentified *v; /* owned */
	size_t n, cap;
};

static int files__add(struct files *f, const struct unidentified *u, const char *name)
{
	char *copy;

	if (!ARRAY_HAS_ROOM(f->v, f->n, f->cap, 256))
		return -ENOMEM;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	f->v[f->n] = *u;
	f->v[f->n++].name = copy;
	return 0;
}

static void files__identify(struct files *f, struct map_build_ids *ids)
{
	struct build_id id;
	size_t i;

	for (i = 0; i < f->n; i++) {
		const struct unidentified *u = &f->v[i];

		map_build_ids__find(ids, u->pid, u->start, u->end, &u->id, u->name,
				    now_ns() + FILE_WAIT, &id);
		free(u->name);
	}
	free(f->v);
}

static int collect_map(uint32_t pid, const struct map *map, void *arg)
{
	const struct unidentified u = { pid, map->start, map->end, map->file->id, NULL };

	if (!(map->prot & PROT_EXEC) || map->file->asked || map->file->name[0] != '/' ||
	    map_file__build_id(map->file)->size)
		return 0;
	map->file->asked = true;
	return files__add(arg, &u, map->file->name);
}

static int collect_process(uint32_t pid, void *arg)
{
	struct files *f = arg;

	return task_model__each_map(f->base, pid, collect_map, f);
}

void sideband_core__identify(struct sideband *sb)
{
	struct files f = { 0 };

	sideband__lock(sb);
	f.base = sb->base;
	task_model__each_process(sb->base, collect_process, &f); /* out of memory: some of them */
	sideband__unlock(sb);
	files__identify(&f, sb->build_ids);
}

static uint64_t hash_file(const struct record_mmap2 *r)
{
	uint64_t hash = (uint64_t)r->maj << 32 | r->min;

	hash = (hash ^ r->ino) * 0x9e3779b97f4a7c15ULL;
	return (hash ^ hash >> 29 ^ r->ino_generation) * 0x9e3779b97f4a7c15ULL;
}

void sideband_core__want_file(struct sideband *sb, const struct record_mmap2 *r)
{
	const struct unidentified u = {
		.pid = r->pid,
		.start = r->start,
		.end = r->start + r->len,
		.id = {
			.maj = r->maj,
			.min = r->min,
			.ino = r->ino,
			.ino_generation = r->ino_generation,
		},
	};
	uint64_t hash = hash_file(r), *asked = &sb->asked_files[hash % ARRAY_SIZE(sb->asked_files)];
	struct files f = { NULL, sb->unidentified, sb->n_unidentified, sb->cap_unidentified };

	if ((r->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) || !(r->prot & PROT_EXEC) ||
	    r->filename[0] != '/' || !r->ino || *asked == hash || f.n >= WANTED_MAX ||
	    files__add(&f, &u, r->filename))
		return;
	*asked = hash;
	sb->unidentified = f.v;
	sb->n_unidentified = f.n;
	sb->cap_unidentified = f.cap;
	pthread_cond_signal(&sb->helper_wake);
}

void sideband_core__identify_wanted(struct sideband *sb)
{
	struct files f = { 0 };

	sideband__lock(sb);
	f.v = sb->unidentified;
	f.n = sb->n_unidentified;
	sb->unidentified = NULL;
	sb->n_unidentified = sb->cap_unidentified = 0;
	sideband__unlock(sb);
	files__identify(&f, sb->build_ids);
}
