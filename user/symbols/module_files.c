// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/foreign.h"
#include "common/map_file.h"
#include "symbols/module_files.h"
#include "symbols/text_chunks.h"
#include "symbols/text_symbols.h"

#define PERF_MAP_MAX (256u << 20)
#define DEBUG_DIR    "/usr/lib/debug"

static const char no_memory[] = "out of memory for its symbols";

/* "12/3456...": the file's place below a .build-id. */
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

/* Is the open file of that build id? What is not known is believed. */
static bool has_id(int fd, const struct build_id *id)
{
	struct build_id is = { 0 };

	return !id->size || (!build_id__read_fd(fd, &is) && is.size == id->size &&
			     !memcmp(is.data, id->data, id->size));
}

/* Read the file @fd, which is taken over, if it is of that build id. *ret_other: becomes true when it
 * is not. */
static bool read_open(int fd, const struct build_id *id, struct elf_symbols *ret, bool *ret_other)
{
	bool other = fd >= 0 && !has_id(fd, id), done = false;

	if (other)
		*ret_other = true;
	else if (fd >= 0)
		done = !elf_symbols__read(fd, ret);
	if (fd >= 0)
		close(fd);
	return done;
}

/* The same of a file that may have the symbols. @flags: of foreign.h; the path may come from a recording
 * of anybody's making. */
static bool read_file(const char *path, unsigned int flags, const struct build_id *id,
		      struct elf_symbols *ret, bool *ret_other)
{
	return read_open(foreign__open_path(path, flags, NULL), id, ret, ret_other);
}

/* A file below ~/.debug, where perf keeps copies. False: there is no home. */
static bool kept_path(const struct build_id *id, const char *file, char path[static PATH_MAX])
{
	char hex[2 * BUILD_ID_MAX + 2];
	const char *home = getenv("HOME");

	if (!home || home[0] != '/' || !id->size)
		return false;
	format_id(id, hex);
	return snprintf(path, PATH_MAX, "%s/.debug/.build-id/%s/%s", home, hex, file) < PATH_MAX;
}

/* A file that was mapped by @pid. */
struct mapped {
	const char *path;
	const struct build_id *id;
	uint32_t pid;
	uint64_t start, end;
};

/* As @pid has it. Without a build id that may be another process by now. */
static bool read_of_process(const struct mapped *m, struct elf_symbols *ret, bool *ret_other)
{
	char path[MAP_FILE_PATH_MAX];

	if (!m->pid || !m->id->size)
		return false;
	if (read_open(foreign__open_of(m->pid, m->path, NULL), m->id, ret, ret_other))
		return true;
	/* deleted or replaced since */
	map_file__path(m->pid, m->start, m->end, path);
	if (read_file(path, FOREIGN_MAGIC, m->id, ret, ret_other))
		return true;
	snprintf(path, sizeof(path), "/proc/%u/exe", m->pid);
	return read_file(path, FOREIGN_MAGIC, m->id, ret, ret_other);
}

/* The file that was mapped, or a copy. */
static bool read_mapped(const struct mapped *m, struct elf_symbols *ret, bool *ret_other)
{
	const struct build_id *id = m->id;
	char other[PATH_MAX];

	return read_of_process(m, ret, ret_other) || read_file(m->path, 0, id, ret, ret_other) ||
	       (kept_path(id, "elf", other) &&
		read_file(other, FOREIGN_TRUSTED, id, ret, ret_other));
}

/* Take the symbols of a debug file: where they are mapped only the file itself tells. */
static bool take_debug_file(const char *path, unsigned int flags, const struct build_id *id,
			    struct elf_symbols *to)
{
	struct elf_wanted wanted = { 0 };
	struct elf_symbols e = { 0 };
	bool other;

	if (to->wanted) {
		wanted = *to->wanted;
		wanted.segments = to;
		e.wanted = &wanted;
	}
	if (!read_file(path, flags, id, &e, &other))
		return false;
	if (!e.full || !e.table.n) {
		elf_symbols__free(&e);
		return false;
	}
	symbol_table__free(&to->table);
	to->table = e.table;
	to->full = true;
	symbol_table__free(&e.stubs);
	return true;
}

/* By build id, then by the name that the file gives; as perf looks for them. */
static void find_debug_file(const char *file, const struct build_id *id, struct elf_symbols *to)
{
	const char *slash = strrchr(file, '/');
	int dir = slash ? slash - file : 0;
	char hex[2 * BUILD_ID_MAX + 2], path[PATH_MAX];

	if (!id->size) /* nothing would tell whether it is of this very file */
		return;
	if (kept_path(id, "debug", path) && take_debug_file(path, FOREIGN_TRUSTED, id, to))
		return;
	format_id(id, hex);
	snprintf(path, sizeof(path), DEBUG_DIR "/.build-id/%s.debug", hex);
	if (take_debug_file(path, FOREIGN_TRUSTED, id, to) || !to->debuglink[0])
		return;
	snprintf(path, sizeof(path), "%.*s/%s", dir, file, to->debuglink);
	if (strcmp(path, file) && take_debug_file(path, 0, id, to))
		return;
	snprintf(path, sizeof(path), "%.*s/.debug/%s", dir, file, to->debuglink);
	if (take_debug_file(path, 0, id, to))
		return;
	snprintf(path, sizeof(path), DEBUG_DIR "%.*s/%s", dir, file, to->debuglink);
	take_debug_file(path, FOREIGN_TRUSTED, id, to);
}

static int read_own_id(const char *path, struct build_id *ret)
{
	_cleanup_close_ int fd = foreign__open_path(path, 0, NULL);

	return fd < 0 ? fd : build_id__read_fd(fd, ret);
}

const char *module_files__read(const char *path, const struct build_id *id, uint32_t pid,
			       uint64_t start, uint64_t end, struct elf_symbols *ret)
{
	const struct mapped mapped = { path, id, pid, start, end };
	struct elf_symbols e = { .wanted = ret->wanted };
	struct build_id own = *id;
	bool other = false;

	if (!read_mapped(&mapped, &e, &other))
		return other ? "is another build than the one recorded" : "is not here";
	if (!own.size && read_own_id(path, &own)) /* the recording did not tell */
		own.size = 0;
	e.wanted = ret->wanted;
	if (!e.full)
		find_debug_file(path, &own, &e);
	e.wanted = NULL;
	if (!e.table.n || !e.n_segments) {
		elf_symbols__free(&e);
		return "has no symbols";
	}
	*ret = e;
	return NULL;
}

/* Our own vDSO as a file, so that it is read like one. -1: there is none. */
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
			return -1;
		return TAKE_FD(fd);
	}
	return -1;
}

static bool is_running_kernel(const struct build_id *id)
{
	struct build_id is;

	return !build_id__read_kernel(&is) && is.size == id->size &&
	       !memcmp(is.data, id->data, id->size);
}

const char *module_files__read_vdso(const struct build_id *id, struct elf_symbols *ret)
{
	_cleanup_close_ int fd = open_vdso();
	char kept[PATH_MAX];
	bool other;

	if (!id->size) /* it may be any kernel's */
		return "has no build id";
	if (fd >= 0 && (has_id(fd, id) || is_running_kernel(id)))
		return elf_symbols__read(fd, ret) ? "has no symbols" : NULL;
	if (kept_path(id, "vdso", kept) && read_file(kept, FOREIGN_TRUSTED, id, ret, &other))
		return NULL;
	return "is that of another kernel";
}

/* The pid of a living process in its own namespace, else @pid itself. */
static uint32_t inner_pid(uint32_t pid)
{
	char path[64], line[512];
	uint32_t inner = pid;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
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

/* Anybody may write to /tmp: believe root, ourselves, and the user of the process. */
static bool is_trusted(const struct stat *st, uint32_t pid)
{
	struct stat process;
	char path[32];

	if (!st->st_uid || st->st_uid == geteuid())
		return true;
	snprintf(path, sizeof(path), "/proc/%u", pid);
	return !stat(path, &process) && process.st_uid == st->st_uid;
}

static int add_perf_map(const struct buf *text, void *arg)
{
	return text_symbols__perf_map(text, arg);
}

const char *module_files__read_perf_map(uint32_t pid, struct symbol_table *ret)
{
	struct symbol_table t = { 0 };
	struct stat st;
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/tmp/perf-%u.map", inner_pid(pid));
	_cleanup_close_ int found = foreign__find_of(pid, path, &st);
	if (found < 0) {
		snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
		found = foreign__find_of(getpid(), path, &st);
	}
	if (found < 0)
		return "has no /tmp/perf-PID.map";
	if (!is_trusted(&st, pid))
		return "has a perf-PID.map of another user";
	_cleanup_close_ int fd = foreign__open(found);
	if (fd < 0)
		return "has a perf-PID.map that cannot be read";
	t.wanted = TAKE_PTR(ret->wanted);
	err = text_chunks__each(fd, PERF_MAP_MAX, add_perf_map, &t) ?: symbol_table__finish(&t);
	if (err) {
		symbol_table__free(&t);
		return err == -ENOMEM ? no_memory : "has a perf-PID.map that cannot be read";
	}
	*ret = t;
	return NULL;
}
