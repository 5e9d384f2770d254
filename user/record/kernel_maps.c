// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "common/cleanup.h"
#include "perfdata/record.h"
#include "record/kernel_maps.h"

#define KERNEL_PID  UINT32_MAX
#define FILE_MAX    ((size_t)64 << 20)
#define SYMBOL_LINE 1024 /* KSYM_NAME_LEN is 512 */

static int kernel_maps__add(struct kernel_maps *k, uint64_t start, uint64_t len, uint64_t pgoff,
			    const char *name)
{
	struct kernel_map *v = reallocarray(k->v, k->n + 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	k->v = v;
	v[k->n] = (struct kernel_map){ start, len, pgoff, strdup(name) };
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
	struct text_bounds b = { 0 };
	uint64_t start;

	if (fd < 0)
		return 0;
	read_bounds(fd, &b);
	start = b.text ? b.text : b.stext;
	if (!start || b.etext <= start)
		return 0;
	return kernel_maps__add(k, start, b.etext - start, start,
				b.text ? "[kernel.kallsyms]_text" : "[kernel.kallsyms]_stext");
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

/* modules.dep: "kernel/fs/ext4/ext4.ko: needed.ko ...". Writes the path or "[name]". */
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

/* "name size references users state address" */
static int add_module(struct kernel_maps *k, const char *line, const struct buf *dep,
		      const char *root)
{
	char name[128], path[PATH_MAX];
	uint64_t size, start;
	const char *hex;

	if (sscanf(line, "%127s %lu", name, &size) != 2)
		return 0;
	hex = strstr(line, " 0x");
	start = hex ? strtoull(hex, NULL, 16) : 0;
	if (!start)
		return 0;
	module_path(dep, root, name, path, sizeof(path));
	return kernel_maps__add(k, start, size, 0, path);
}

int kernel_maps__read_modules(struct kernel_maps *k)
{
	struct buf modules = { 0 }, dep = { 0 };
	char root[128], path[sizeof(root) + sizeof("/modules.dep")], *line, *end;
	struct utsname uts;
	int err;

	err = buf__read_file(&modules, "/proc/modules", FILE_MAX);
	if (!err && modules.len) {
		uname(&uts);
		snprintf(root, sizeof(root), "/lib/modules/%s", uts.release);
		snprintf(path, sizeof(path), "%s/modules.dep", root);
		err = buf__read_file(&dep, path, FILE_MAX);
		if (err != -ENOMEM)
			err = 0;
	}
	for (line = modules.data; line && *line && !err; line = end + 1) {
		end = strchr(line, '\n');
		if (!end)
			break;
		*end = '\0';
		err = add_module(k, line, &dep, root);
	}
	buf__free(&modules);
	buf__free(&dep);
	return err == -ENOMEM ? err : 0;
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
