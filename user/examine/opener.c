// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/channel.h"
#include "common/cleanup.h"
#include "common/foreign.h"
#include "common/proc_file.h"
#include "examine/opener.h"
#include "examine/sandbox.h"
#include "symbols/elf_recorded.h"
#include "symbols/file_search.h"
#include "symbols/map_list.h"

/* ---- a file that a process has mapped, even if the name now belongs to another file ---- */

static bool is_same_mapped_file(const struct stat *st, const struct map_file_id *file)
{
	return st->st_ino == file->ino && major(st->st_dev) == file->maj &&
	       minor(st->st_dev) == file->min;
}

/*
 * Is this the file that was mapped? Pids are reused, so the process may now map another one there.
 * On btrfs and overlayfs, fstat() and maps name different devices; there the path must be equal.
 */
static bool is_mapped_file(const struct stat *st, const char *map_file,
			   const struct map_file_id *file, const char *name)
{
	char path[PATH_MAX];
	ssize_t n;

	if (is_same_mapped_file(st, file))
		return true;
	n = readlink(map_file, path, sizeof(path));
	return n > 0 && (size_t)n == strlen(name) && !memcmp(path, name, n);
}

/*
 * Does the file have this generation? A reused inode number has another generation. Some file
 * systems do not report generations: then the number alone decides.
 */
static bool is_generation(int fd, const struct map_file_id *file)
{
	long now = 0;

	return !file->ino_generation || ioctl(fd, FS_IOC_GETVERSION, &now) ||
	       (uint32_t)now == (uint32_t)file->ino_generation;
}

/* Open @found (O_PATH, taken over) for reading, if it is the file that is meant. */
static int open_found_file(int found, const struct stat *st, const struct map_file_id *file)
{
	int fd;

	if (found < 0)
		return found;
	fd = is_same_mapped_file(st, file) ? foreign__open(found) : -ESTALE;
	close(found);
	if (fd < 0 || is_generation(fd, file))
		return fd;
	close(fd);
	return -ESTALE;
}

static int open_map_file(uint32_t pid, uint64_t start, uint64_t end, const struct map_file_id *file,
			 const char *name)
{
	char path[MAP_FILE_PATH_MAX];
	struct stat st;

	map_file__path(pid, start, end, path);
	_cleanup_close_ int found = foreign__find(path, FOREIGN_MAGIC, &st);
	if (found < 0)
		return found;
	return is_mapped_file(&st, path, file, name) ? foreign__open(found) : -ESTALE;
}

/*
 * Open the file @file that @pid has mapped at [@start, @end) as @name. Tries the mapping, then the
 * path in the process's root, then in ours. Returns a descriptor that the caller closes, or
 * negative errno; -ESTALE: another file has the name. Blocks for as long as the file system does.
 */
static int mapped_fd__open(uint32_t pid, uint64_t start, uint64_t end,
			   const struct map_file_id *file, const char *name)
{
	struct stat st;
	int fd = open_map_file(pid, start, end, file, name), found;

	if (fd >= 0)
		return fd;
	found = foreign__find_of(pid, name, &st);
	fd = open_found_file(found, &st, file);
	if (fd >= 0)
		return fd;
	found = foreign__find(name, 0, &st);
	return open_found_file(found, &st, file);
}

_Static_assert(FILE_SEARCH_MAPPED + FILE_SEARCH_DEBUG <= OPENED_FDS_MAX, "room for all of them");
_Static_assert(OPENED_FDS_MAX <= CHANNEL_FDS_MAX, "room for all of them");

#define SHOWN_MAX 4096 /* bytes */

struct fds {
	int v[OPENED_FDS_MAX];
	size_t n;
};

static void fds__add(struct fds *f, int fd)
{
	if (fd >= 0)
		f->v[f->n++] = fd;
}

static int open_mapped(const struct examine_request *r)
{
	const struct map_file_id id = {
		.maj = r->maj,
		.min = r->min,
		.ino = r->ino,
		.ino_generation = r->ino_generation,
	};

	return mapped_fd__open(r->pid, r->start, r->end, &id, r->path);
}

static void open_symbols(const struct examine_request *r, struct opened *to, struct fds *fds)
{
	const struct mapped_file m = { r->path, &r->id, r->pid, r->start, r->end };
	unsigned int i;

	for (i = 0; i < FILE_SEARCH_MAPPED; i++)
		fds__add(fds, file_search__mapped(&m, i));
	to->n_files = fds->n;
	for (i = 0; i < FILE_SEARCH_DEBUG; i++)
		fds__add(fds, file_search__debug(r->path, &r->id, r->link, i));
	to->n_debug = fds->n - to->n_files;
}

/*
 * Add candidates for the debug file of a file that came with the request. They must be root's or
 * our user's, since others could invent symbols.
 */
static void open_debug(const struct examine_request *r, struct opened *to, struct fds *fds)
{
	struct stat st;

	to->n_files = fds->n;
	to->ours = fds->n && !fstat(fds->v[0], &st) && elf_recorded__is_ours(&st);
	for (unsigned int i = 0; i < FILE_SEARCH_DEBUG && fds->n; i++) {
		int fd = file_search__debug(r->path, &r->id, r->link, i);

		if (fd >= 0 && (fstat(fd, &st) || !elf_recorded__is_ours(&st)))
			close(fd);
		else
			fds__add(fds, fd);
	}
	to->n_debug = fds->n - to->n_files;
}

/* Make two calls that the file system's server must answer: no cache can. */
static void reach_path(const char *path)
{
	struct stat st;
	_cleanup_close_ int fd = foreign__open_path(path, FOREIGN_TRUSTED, NULL);
	struct statfs fs;

	if (fd >= 0 && !fstat(fd, &st))
		fstatfs(fd, &fs);
}

/* Copy a file that only a process with our capabilities can read. */
static int copy_shown(int file)
{
	_cleanup_close_ int copy = memfd_create("shown", MFD_CLOEXEC);
	char text[SHOWN_MAX];
	ssize_t n = copy < 0 ? -1 : pread(file, text, sizeof(text), 0);

	return n > 0 && pwrite(copy, text, n, 0) == n ? TAKE_FD(copy) : -ESRCH;
}

/*
 * Open a file of a task in /proc, which is harmless. Reading it may hang, so the parser reads it;
 * but `syscall` can be read only here.
 */
static int open_task(const struct examine_request *r)
{
	static const char *const names[] = {
		[EXAMINE_TASK_COMMAND] = "cmdline",
		[EXAMINE_TASK_MEMORY] = "mem",
		[EXAMINE_TASK_SYSCALL] = "syscall",
	};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/%s", r->pid, names[r->task_file]);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	return r->task_file == EXAMINE_TASK_SYSCALL ? copy_shown(fd) : TAKE_FD(fd);
}

static void open_files(const struct examine_request *r, struct opened *to, struct fds *fds)
{
	switch (r->kind) {
	case EXAMINE_BUILD_ID:
		fds__add(fds, open_mapped(r));
		break;
	case EXAMINE_SYMBOLS:
		open_symbols(r, to, fds);
		return;
	case EXAMINE_PROBE:
		open_debug(r, to, fds);
		return;
	case EXAMINE_VDSO:
		fds__add(fds, file_search__vdso(&r->id));
		break;
	case EXAMINE_REACH:
		reach_path(r->path);
		return;
	case EXAMINE_TASK:
		fds__add(fds, open_task(r));
		break;
	case EXAMINE_PERF_MAP:
		fds__add(fds, file_search__perf_map(r->pid));
		break;
	}
	to->n_files = fds->n;
}

void opener__run(int requests, int parser)
{
	struct opened *to =
		mmap(NULL, sizeof(*to), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (to == MAP_FAILED || sandbox__opener())
		_exit(1);
	for (;;) {
		struct fds fds = { .n = 0 };
		ssize_t n = channel__receive(requests, &to->request, sizeof(to->request), fds.v, 1,
					     &fds.n, 0);

		if (n <= 0 || examine_request__check(&to->request, n))
			_exit(0);
		to->n_files = to->n_debug = to->ours = 0;
		open_files(&to->request, to, &fds);
		if (channel__send(parser, to, sizeof(*to), fds.v, fds.n, 0))
			_exit(0);
		while (fds.n)
			close(fds.v[--fds.n]);
	}
}
