// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "perfdata/record.h"
#include "symbols/kernel_space.h"

#define KERNEL_NAME "[kernel.kallsyms]"

bool kernel_space__is_text(const char *map_name)
{
	return !strncmp(map_name, KERNEL_NAME, strlen(KERNEL_NAME));
}

static int add_kernel_map(struct kernel_space *k, struct map *m, uint64_t len,
			  const struct map_file_id *id, const char *name)
{
	int err;

	if (__builtin_add_overflow(m->start, len, &m->end))
		m->end = UINT64_MAX;
	err = map_file__get(&k->pool, id, name, strlen(name), &m->file);
	if (err)
		return err == -ENAMETOOLONG ? 0 : err;
	err = map_list__overlay(&k->maps, &k->pool, m);
	if (!err && kernel_space__is_text(name)) {
		map_file__put(&k->pool, k->text.file);
		k->text = *m; /* takes over the reference */
		return 0;
	}
	map_file__put(&k->pool, m->file);
	return err;
}

static int map_ksymbol(struct kernel_space *k, const struct record_ksymbol *r)
{
	static const struct map_file_id none;
	struct map m = { .start = r->addr, .flags = KERNEL_SPACE_KSYMBOL };

	/* keep an unloaded program until another overlays it: its samples may still come */
	if ((r->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER) ||
	    !strcmp(r->name, RECORD_KSYMBOL_NONE))
		return 0;
	return add_kernel_map(k, &m, r->len, &none, r->name);
}

static int map_mmap(struct kernel_space *k, const struct record_mmap *r)
{
	static const struct map_file_id none;
	struct map m = { .start = r->start, .pgoff = r->pgoff };

	return add_kernel_map(k, &m, r->len, &none, r->filename);
}

static int map_mmap2(struct kernel_space *k, const struct record_mmap2 *r)
{
	struct map m = { .start = r->start, .pgoff = r->pgoff };
	struct map_file_id id = { 0 };

	if (r->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		id.build_id.size = r->build_id_size;
		memcpy(id.build_id.data, r->build_id, r->build_id_size);
	}
	return add_kernel_map(k, &m, r->len, &id, r->filename);
}

int kernel_space__apply(struct kernel_space *k, const struct perf_event_header *rec)
{
	if (rec->type == PERF_RECORD_KSYMBOL)
		return map_ksymbol(k, (const void *)rec);
	if ((rec->misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_KERNEL)
		return 0;
	if (rec->type == PERF_RECORD_MMAP)
		return map_mmap(k, (const void *)rec);
	if (rec->type == PERF_RECORD_MMAP2)
		return map_mmap2(k, (const void *)rec);
	return 0;
}

const struct map *kernel_space__find(const struct kernel_space *k, uint64_t addr)
{
	const struct map *m = map_list__find(k->maps, addr);

	return m || !k->text.file || addr < k->text.start ? m : &k->text;
}

void kernel_space__free(struct kernel_space *k)
{
	map_file__put(&k->pool, k->text.file);
	map_list__put(k->maps, &k->pool);
	*k = (struct kernel_space){ 0 };
}
