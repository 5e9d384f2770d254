// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "perfdata/record.h"
#include "sideband/kernel_maps.h"

#define KERNEL_PID  UINT32_MAX
#define SYMBOL_LINE 1024 /* KSYM_NAME_LEN is 512 */

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

/* The text's bounds, found in a stream of lines "address type name". */
struct text_bounds {
	uint64_t text, stext, etext;
};

static void check_symbol(struct text_bounds *b, const char *line)
{
	const struct {
		const char *name;
		uint64_t *value;
	} wanted[] = { { "_text", &b->text }, { "_stext", &b->stext }, { "_etext", &b->etext } };
	const char *name = strchr(line, ' ');
	size_t i;

	if (!name || !name[1] || name[2] != ' ')
		return;
	name += 3;
	if (name[0] != '_')
		return;
	for (i = 0; i < ARRAY_SIZE(wanted); i++)
		if (!strcmp(name, wanted[i].name))
			*wanted[i].value = strtoull(line, NULL, 16);
}

/* kallsyms is sorted by address: what stands behind _etext (most of it) need not be read. */
static void read_bounds(int fd, struct text_bounds *b)
{
	char chunk[32 * 1024], *line, *end;
	size_t have = 0;
	ssize_t n;

	while (!b->etext && (n = read(fd, chunk + have, sizeof(chunk) - have)) > 0) {
		have += n;
		for (line = chunk; (end = memchr(line, '\n', chunk + have - line));
		     line = end + 1) {
			*end = '\0';
			check_symbol(b, line);
		}
		have -= line - chunk;
		if (have > SYMBOL_LINE)
			break;
		memmove(chunk, line, have);
	}
}

int kernel_maps__read_text(struct kernel_maps *k)
{
	_cleanup_close_ int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	struct kernel_map map = { .name = "[kernel.kallsyms]_text" };
	struct text_bounds b = { 0 };

	if (fd < 0)
		return 0;
	read_bounds(fd, &b);
	if (!b.text)
		map.name = "[kernel.kallsyms]_stext";
	map.start = map.pgoff = b.text ? b.text : b.stext;
	if (!map.start || b.etext <= map.start)
		return 0;
	map.len = b.etext - map.start;
	return kernel_maps__add(k, &map);
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
