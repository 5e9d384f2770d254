// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/foreign.h"
#include "common/opening.h"
#include "common/proc_file.h"
#include "symbols/elf_recorded.h"
#include "symbols/file_search.h"

#define DEBUG_DIR "/usr/lib/debug"

/* "12/3456...": the path of the file below .build-id. */
static void format_id(const struct build_id *id, char to[2 * BUILD_ID_MAX + 2])
{
	char *p = to;

	for (int i = 0; i < id->size; i++) {
		p += sprintf(p, "%02x", id->data[i]);
		if (!i)
			*p++ = '/';
	}
	*p = '\0';
}

/* Open a file below ~/.debug, where perf keeps copies. */
static int open_kept(const struct build_id *id, const char *file)
{
	char hex[2 * BUILD_ID_MAX + 2], path[PATH_MAX];
	const char *home = getenv("HOME");

	if (!home || home[0] != '/' || !id->size)
		return -ENOENT;
	format_id(id, hex);
	if (snprintf(path, sizeof(path), "%s/.debug/.build-id/%s/%s", home, hex, file) >= PATH_MAX)
		return -ENAMETOOLONG;
	return foreign__open_path(path, FOREIGN_TRUSTED, NULL);
}

/* ---- by the opener ---- */

/*
 * Ask the opener for the file. Returns -ENAMETOOLONG, or what the function of the same name as
 * @kind returns.
 */
static int ask_opener(enum opening_kind kind, const struct mapped_file *m, const char *link,
		      unsigned int candidate)
{
	struct opening_request r = {
		.kind = kind,
		.candidate = candidate,
		.pid = m->pid,
		.start = m->start,
		.end = m->end,
		.id_size = m->id->size,
	};

	_Static_assert(sizeof(m->id->data) == sizeof(r.id), "the same size");
	memcpy(r.id, m->id->data, sizeof(r.id));
	if ((size_t)snprintf(r.path, sizeof(r.path), "%s", m->path) >= sizeof(r.path) ||
	    (size_t)snprintf(r.link, sizeof(r.link), "%s", link) >= sizeof(r.link))
		return -ENAMETOOLONG;
	return opening__ask(&r);
}

/* ---- in this process ---- */

/*
 * May the file be looked for through its process? The pid may be reused, so only a build id proves
 * that it is the right file.
 */
static bool is_of_process(const struct mapped_file *m)
{
	return m->pid && m->id->size;
}

int file_search__mapped(const struct mapped_file *m, unsigned int i)
{
	char path[MAP_FILE_PATH_MAX];

	if (opening__is_remote())
		return ask_opener(OPENING_MAPPED, m, "", i);
	if (i < 3 && !is_of_process(m))
		return -ENOENT;
	switch (i) {
	case 0:
		return foreign__open_of(m->pid, m->path, NULL);
	case 1: /* the file may be deleted or replaced */
		map_file__path(m->pid, m->start, m->end, path);
		return foreign__open_path(path, FOREIGN_MAGIC, NULL);
	case 2:
		snprintf(path, sizeof(path), "/proc/%" PRIu32 "/exe", m->pid);
		return foreign__open_path(path, FOREIGN_MAGIC, NULL);
	case FILE_SEARCH_AS_NAMED:
		return foreign__open_path(m->path, 0, NULL);
	case 4:
		return open_kept(m->id, "elf");
	}
	return -ENOENT;
}

int file_search__debug(const char *path, const struct build_id *id, const char *link,
		       unsigned int i)
{
	const char *slash = strrchr(path, '/');
	int dir = slash ? slash - path : 0, n = 0;
	char hex[2 * BUILD_ID_MAX + 2], at[PATH_MAX];
	unsigned int flags = FOREIGN_TRUSTED;

	/* without an id, nothing proves that it belongs to this file */
	if (!id->size || (i >= 2 && !link[0]))
		return -ENOENT;
	if (opening__is_remote())
		return ask_opener(OPENING_DEBUG, &(struct mapped_file){ .path = path, .id = id },
				  link, i);
	format_id(id, hex);
	switch (i) {
	case 0:
		return open_kept(id, "debug");
	case 1:
		n = snprintf(at, sizeof(at), DEBUG_DIR "/.build-id/%s.debug", hex);
		break;
	case 2:
		n = snprintf(at, sizeof(at), "%.*s/%s", dir, path, link);
		flags = 0;
		break;
	case 3:
		n = snprintf(at, sizeof(at), "%.*s/.debug/%s", dir, path, link);
		flags = 0;
		break;
	case 4:
		n = snprintf(at, sizeof(at), DEBUG_DIR "%.*s/%s", dir, path, link);
		break;
	default:
		return -ENOENT;
	}
	if (n >= PATH_MAX || !strcmp(at, path))
		return -ENOENT;
	return foreign__open_path(at, flags, NULL);
}

/* Copy our own vDSO into a memfd, so that it can be read like a file. */
static int open_vdso(void)
{
	_cleanup_fclose_ FILE *maps = fopen("/proc/self/maps", "re");
	_cleanup_close_ int fd = memfd_create("vdso", MFD_CLOEXEC);
	char line[PATH_MAX + 128];
	uintptr_t start, end;

	while (maps && fd >= 0 && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "[vdso]") ||
		    sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &start, &end) != 2)
			continue;
		if (write(fd, (const void *)start, end - start) != (ssize_t)(end - start))
			return -EIO;
		return TAKE_FD(fd);
	}
	return -ENOENT;
}

static bool is_running_kernel(const struct build_id *id)
{
	struct build_id is;

	return !build_id__read_kernel(&is) && is.size == id->size &&
	       !memcmp(is.data, id->data, id->size);
}

int file_search__vdso(const struct build_id *id)
{
	_cleanup_close_ int fd = -1;

	if (!id->size) /* it may be from any kernel */
		return -ENOENT;
	if (opening__is_remote())
		return ask_opener(OPENING_VDSO, &(struct mapped_file){ .path = "", .id = id }, "",
				  0);
	fd = open_vdso();
	if (fd >= 0 && (elf_recorded__has_id(fd, id) || is_running_kernel(id)))
		return TAKE_FD(fd);
	if (fd >= 0)
		close(fd);
	fd = open_kept(id, "vdso");
	return fd >= 0 && elf_recorded__has_id(fd, id) ? TAKE_FD(fd) : -ENOENT;
}

/* The pid of a living process in its own namespace, else @pid itself. */
static uint32_t inner_pid(uint32_t pid)
{
	char path[64], line[512];
	uint32_t inner = pid;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", pid);
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		const char *last;

		if (strncmp(line, "NSpid:", 6))
			continue;
		last = strrchr(line, '\t');
		if (last)
			inner = strtoul(last, NULL, 10);
	}
	return inner;
}

/* Anybody can write to /tmp: trust only root, ourselves, and the user of the process. */
static bool owner_is_trusted(const struct stat *st, uint32_t pid)
{
	struct stat process;
	char path[32];

	if (!st->st_uid || st->st_uid == geteuid())
		return true;
	snprintf(path, sizeof(path), "/proc/%" PRIu32, pid);
	return !stat(path, &process) && process.st_uid == st->st_uid;
}

int file_search__perf_map(uint32_t pid)
{
	static const struct build_id none;
	struct stat st;
	char path[64];

	if (opening__is_remote())
		return ask_opener(OPENING_PERF_MAP, &(struct mapped_file){ "", &none, pid, 0, 0 },
				  "", 0);
	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", inner_pid(pid));
	_cleanup_close_ int found = foreign__find_of(pid, path, &st);
	if (found < 0) {
		snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", pid);
		found = foreign__find_of(getpid(), path, &st);
	}
	if (found < 0)
		return found;
	return owner_is_trusted(&st, pid) ? foreign__open(found) : -EPERM;
}
