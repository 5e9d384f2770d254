// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "sideband/proc_maps.h"
#include "sideband/proc_text.h"

#define MAPS_MAX ((size_t)256 << 20)

/*
 * From include/uapi/linux/fs.h, since Linux 6.11 (commit ed5d583a88a9). One call gets one map, with
 * its name and build id. To parse the text of all maps is several times slower.
 */
struct procmap_query {
	uint64_t size;
	uint64_t query_flags, query_addr;
	uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset;
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	uint32_t vma_name_size, build_id_size;
	uint64_t vma_name_addr, build_id_addr;
};
#define PROCMAP_QUERY _IOWR('f', 17, struct procmap_query)
enum { VMA_READABLE = 1, VMA_WRITABLE = 2, VMA_EXECUTABLE = 4, VMA_SHARED = 8, OR_NEXT = 16 };

/* Do records call the map "//anon"? Other maps without a file, such as [heap], keep their name. */
static bool is_anonymous(const char *name, size_t len)
{
	static const char named[] = "[anon:", shmem[] = "[anon_shmem:";

	return len == 0 || (len >= sizeof(named) && !memcmp(name, named, sizeof(named) - 1)) ||
	       (len >= sizeof(shmem) && !memcmp(name, shmem, sizeof(shmem) - 1));
}

/* Add a copy of @map. set_names() sets its name later: p->names may move while it grows. */
static int add_map(struct proc_maps *p, const struct task_map *map, const char *name, size_t len)
{
	static const char anon[] = "//anon";

	if (!ARRAY_HAS_ROOM(p->v, p->n, p->cap, 16))
		return -ENOMEM;
	if (is_anonymous(name, len)) {
		name = anon;
		len = sizeof(anon) - 1;
	}
	p->v[p->n] = *map;
	p->v[p->n++].name_len = len;
	return buf__add(&p->names, name, len);
}

static void set_names(struct proc_maps *p)
{
	const char *name = p->names.data;
	size_t i;

	for (i = 0; i < p->n; i++) {
		p->v[i].name = name;
		name += p->v[i].name_len;
	}
}

static int add_answer(struct proc_maps *p, const struct procmap_query *q, const char *name,
		      const struct build_id *id)
{
	struct task_map map = {
		.start = q->vma_start,
		.len = q->vma_end - q->vma_start,
		.pgoff = q->vma_offset,
		.prot = (q->vma_flags & VMA_READABLE ? PROT_READ : 0) |
			(q->vma_flags & VMA_WRITABLE ? PROT_WRITE : 0) |
			(q->vma_flags & VMA_EXECUTABLE ? PROT_EXEC : 0),
		.flags = q->vma_flags & VMA_SHARED ? MAP_SHARED : MAP_PRIVATE,
	};

	if (q->build_id_size) {
		map.file.build_id = *id;
		map.file.build_id.size = q->build_id_size;
	} else {
		map.file.maj = q->dev_major;
		map.file.min = q->dev_minor;
		map.file.ino = q->inode;
	}
	return add_map(p, &map, name, q->vma_name_size ? q->vma_name_size - 1 : 0);
}

/* Add all maps by PROCMAP_QUERY. -ENOTTY: the kernel lacks it. */
static int query_maps(struct proc_maps *p, int fd)
{
	struct procmap_query q;
	uint64_t addr = 0;
	int err = 0;

	while (!err) {
		struct build_id id = { 0 };
		char name[PATH_MAX];

		q = (struct procmap_query){
			.size = sizeof(q),
			.query_flags = (p->data ? 0 : VMA_EXECUTABLE) | OR_NEXT,
			.query_addr = addr,
			.vma_name_addr = (uintptr_t)name,
			.vma_name_size = sizeof(name),
			.build_id_addr = (uintptr_t)id.data,
			.build_id_size = sizeof(id.data),
		};
		if (ioctl(fd, PROCMAP_QUERY, &q))
			return errno == ENOENT ? 0 : -errno;
		err = add_answer(p, &q, name, &id);
		addr = q.vma_end;
	}
	return err;
}

/* The kernel escapes a newline in a name as \012 (seq_path). In place; returns the new length. */
static size_t unescape_name(char *s, size_t len)
{
	size_t n = 0, i = 0;

	while (i < len) {
		bool newline = len - i >= 4 && !memcmp(s + i, "\\012", 4);

		s[n++] = newline ? '\n' : s[i];
		i += newline ? 4 : 1;
	}
	return n;
}

/* Parse "start-end perms offset major:minor inode   name". False: malformed. */
static bool parse_map(char *line, char *end, struct task_map *ret, char **ret_name)
{
	uint64_t to, maj, min;
	const char *s;

	s = proc_text__hex(line, &ret->start);
	if (*s++ != '-')
		return false;
	s = proc_text__hex(s, &to);
	if (*s != ' ' || end - s < 6 || to < ret->start)
		return false;
	ret->len = to - ret->start;
	s++;
	ret->prot = (s[0] == 'r' ? PROT_READ : 0) | (s[1] == 'w' ? PROT_WRITE : 0) |
		    (s[2] == 'x' ? PROT_EXEC : 0);
	ret->flags = s[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
	s = proc_text__hex(proc_text__next_field(s), &ret->pgoff);
	s = proc_text__hex(proc_text__next_field(s), &maj);
	if (*s++ != ':')
		return false;
	s = proc_text__hex(s, &min);
	s = proc_text__dec(proc_text__next_field(s), &ret->file.ino);
	ret->file.maj = maj;
	ret->file.min = min;
	while (s < end && *s == ' ')
		s++;
	*ret_name = line + ((s < end ? s : end) - line);
	return true;
}

static int read_maps_text(struct proc_maps *p, int fd)
{
	char *line, *end, *stop, *name;
	int err;

	p->text.len = 0;
	err = buf__read_fd(&p->text, fd, MAPS_MAX);
	line = p->text.data;
	stop = line + p->text.len;
	for (; line < stop && !err; line = end + 1) {
		struct task_map map = { 0 };

		end = memchr(line, '\n', stop - line);
		if (!end)
			break;
		/* leave out [vsyscall]: the kernel emulates it, so no sample is ever taken there */
		if (parse_map(line, end, &map, &name) && (p->data || map.prot & PROT_EXEC) &&
		    (end == name || strncmp(name, "[vsyscall]", end - name) != 0))
			err = add_map(p, &map, name, unescape_name(name, end - name));
	}
	return err;
}

int proc_maps__read(struct proc_maps *p, int dir)
{
	_cleanup_close_ int fd = openat(dir, "maps", O_RDONLY | O_CLOEXEC);
	int err = -ENOTTY;

	p->n = p->names.len = 0;
	if (fd < 0)
		return -errno;
	if (!p->no_query)
		err = query_maps(p, fd);
	if (err && err != -ENOMEM) {
		p->no_query |= err == -ENOTTY || err == -EINVAL;
		p->n = p->names.len = 0;
		err = read_maps_text(p, fd);
	}
	set_names(p);
	return err;
}

void proc_maps__free(struct proc_maps *p)
{
	free(p->v);
	buf__free(&p->names);
	buf__free(&p->text);
	*p = (struct proc_maps){ 0 };
}
