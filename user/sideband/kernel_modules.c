// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "sideband/kernel_modules.h"

#define FILE_MAX ((size_t)64 << 20)
#define NOTE_MAX 4096

void kernel_modules__init(struct kernel_modules *m, const char *list, const char *root)
{
	struct utsname uts;

	*m = (struct kernel_modules){ .list = list ? list : "/proc/modules" };
	pthread_mutex_init(&m->lock, NULL);
	uname(&uts);
	if (root)
		snprintf(m->root, sizeof(m->root), "%s", root);
	else
		snprintf(m->root, sizeof(m->root), "/lib/modules/%s", uts.release);
}

void kernel_modules__free(struct kernel_modules *m)
{
	if (!m->list)
		return;
	buf__free(&m->text);
	kernel_maps__free(&m->maps);
	pthread_mutex_destroy(&m->lock);
	m->list = NULL;
}

/* Does the file PATH/ext4.ko.xz hold module @name? Files may have '-' where modules have '_'. */
static bool is_module_file(const char *path, size_t len, const char *name)
{
	const char *base = memrchr(path, '/', len), *end = path + len;

	base = base ? base + 1 : path;
	for (; base < end && *name; base++, name++)
		if (*base != *name && !(*base == '-' && *name == '_'))
			return false;
	return !*name && end - base >= 3 && !memcmp(base, ".ko", 3);
}

/*
 * Write the path of module @name, or "[name]" if @dep lacks it. @dep: modules.dep, with lines
 * "kernel/fs/ext4/ext4.ko: needed.ko ...".
 */
static void module_path(const struct buf *dep, const char *root, const char *name, char *ret,
			size_t size)
{
	const char *line = dep->len ? dep->data : "", *colon;

	while ((colon = strchr(line, ':'))) {
		if (is_module_file(line, colon - line, name)) {
			snprintf(ret, size, "%s/%.*s", root, (int)(colon - line), line);
			return;
		}
		line = strchr(colon, '\n');
		if (!line)
			break;
		line++;
	}
	snprintf(ret, size, "[%s]", name);
}

static void read_sysfs_build_id(const char *name, struct build_id *ret)
{
	struct buf note = { 0 };
	char path[256];

	snprintf(path, sizeof(path), "/sys/module/%s/notes/.note.gnu.build-id", name);
	if (buf__read_file(&note, path, NOTE_MAX) || build_id__from_notes(note.data, note.len, ret))
		ret->size = 0;
	buf__free(&note);
}

/* Add a module. @line: "name size references users state address" */
static int add_module(struct kernel_maps *k, const char *line, const struct buf *dep,
		      const char *root)
{
	char name[128], path[PATH_MAX];
	struct kernel_map map = { .name = path };
	const char *hex = strstr(line, " 0x");

	if (sscanf(line, "%127s %" SCNu64, name, &map.len) != 2)
		return 0;
	map.start = hex ? strtoull(hex, NULL, 16) : 0;
	if (!map.start)
		return 0;
	module_path(dep, root, name, path, sizeof(path));
	read_sysfs_build_id(name, &map.id);
	return kernel_maps__add(k, &map);
}

static int parse_modules(const struct kernel_modules *m, const struct buf *list,
			 struct kernel_maps *ret)
{
	const char *line = list->data, *end;
	char path[sizeof(m->root) + sizeof("/modules.dep")], text[512];
	struct buf dep = { 0 };
	int err;

	snprintf(path, sizeof(path), "%s/modules.dep", m->root);
	err = buf__read_file(&dep, path, FILE_MAX);
	if (err != -ENOMEM)
		err = 0;
	for (; !err && (end = strchr(line, '\n')); line = end + 1) {
		snprintf(text, sizeof(text), "%.*s", (int)(end - line), line);
		/* cut a long list of users out of the middle: the address comes after it */
		if ((size_t)(end - line) >= sizeof(text))
			snprintf(text + 256, sizeof(text) - 256, "%s", end - 250);
		err = add_module(ret, text, &dep, m->root);
	}
	buf__free(&dep);
	return err;
}

static bool is_replaced(const struct kernel_map *old, const struct kernel_maps *now)
{
	size_t i;

	for (i = 0; i < now->n; i++)
		if (!strcmp(now->v[i].name, old->name) ||
		    (old->start < now->v[i].start + now->v[i].len &&
		     now->v[i].start < old->start + old->len))
			return true;
	return false;
}

/* Parse a changed @list, which is taken over. Under the lock. */
static int update_maps(struct kernel_modules *m, struct buf *list)
{
	struct kernel_maps now = { 0 };
	size_t i;
	int err = list->len ? parse_modules(m, list, &now) : 0;

	for (i = 0; i < m->maps.n && !err; i++)
		if (!is_replaced(&m->maps.v[i], &now))
			err = kernel_maps__add(&now, &m->maps.v[i]);
	if (err) {
		kernel_maps__free(&now);
		return err;
	}
	kernel_maps__free(&m->maps);
	m->maps = now;
	buf__free(&m->text);
	m->text = *list;
	*list = (struct buf){ 0 };
	return 0;
}

int kernel_modules__current(struct kernel_modules *m, struct kernel_maps *ret)
{
	struct buf list = { 0 };
	size_t i;
	int err;

	pthread_mutex_lock(&m->lock);
	err = buf__read_file(&list, m->list, FILE_MAX);
	if (err && err != -ENOMEM) { /* a kernel without modules */
		list.len = 0;
		err = 0;
	}
	if (!err && (list.len != m->text.len ||
		     (list.len && memcmp(list.data, m->text.data, list.len) != 0)))
		err = update_maps(m, &list);
	for (i = 0; i < m->maps.n && !err; i++)
		err = kernel_maps__add(ret, &m->maps.v[i]);
	pthread_mutex_unlock(&m->lock);
	buf__free(&list);
	return err;
}
