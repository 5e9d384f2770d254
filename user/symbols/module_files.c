// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "symbols/module_files.h"
#include "symbols/text_symbols.h"

#define PERF_MAP_MAX (256u << 20)
#define DEBUG_DIR    "/usr/lib/debug"

static const char no_memory[] = "out of memory for its symbols";

/* A file that may have the symbols. */
static int open_file(const char *path)
{
	/* O_NONBLOCK: a fifo must not block us. */
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

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

/* Take @path's symbols when they are more than *best has. True: nothing better can come. */
static bool try_file(const char *path, const struct build_id *id, struct elf_symbols *best,
		     bool *ret_other)
{
	_cleanup_close_ int fd = open_file(path);
	struct elf_symbols e = { 0 };

	if (fd < 0)
		return false;
	if (!has_id(fd, id)) {
		*ret_other = true;
		return false;
	}
	if (elf_symbols__read(fd, &e))
		return false;
	/* how the file is mapped is better known from itself than from its debug file */
	if (e.full || e.table.n > best->table.n) {
		elf_symbols__free(best);
		*best = e;
	} else {
		elf_symbols__free(&e);
	}
	return best->full;
}

/* Debug files by build id. */
static bool try_build_id(const struct build_id *id, const char *file, struct elf_symbols *best)
{
	char hex[2 * BUILD_ID_MAX + 2], path[PATH_MAX];
	const char *home = getenv("HOME");
	bool other;

	if (!id->size)
		return false;
	format_id(id, hex);
	if (home && home[0] == '/') {
		snprintf(path, sizeof(path), "%s/.debug/.build-id/%s/debug", home, hex);
		if (try_file(path, id, best, &other))
			return true;
		snprintf(path, sizeof(path), "%s/.debug/.build-id/%s/%s", home, hex, file);
		if (try_file(path, id, best, &other))
			return true;
	}
	snprintf(path, sizeof(path), DEBUG_DIR "/.build-id/%s.debug", hex);
	return try_file(path, id, best, &other);
}

/* Debug files by the name that the file gives. */
static void try_debuglink(const char *file, const struct build_id *id, struct elf_symbols *best)
{
	const char *slash = strrchr(file, '/');
	int dir = slash ? slash - file : 0;
	char link[ELF_DEBUGLINK_MAX], path[PATH_MAX];
	bool other;

	/* without a build id nothing would tell whether it is of this very file */
	if (!best->debuglink[0] || !id->size)
		return;
	memcpy(link, best->debuglink, sizeof(link));
	snprintf(path, sizeof(path), "%.*s/%s", dir, file, link);
	if (strcmp(path, file) && try_file(path, id, best, &other))
		return;
	snprintf(path, sizeof(path), "%.*s/.debug/%s", dir, file, link);
	if (try_file(path, id, best, &other))
		return;
	snprintf(path, sizeof(path), DEBUG_DIR "%.*s/%s", dir, file, link);
	try_file(path, id, best, &other);
}

const char *module_files__read(const char *path, const struct build_id *id, uint32_t pid,
			       struct elf_symbols *ret)
{
	struct elf_symbols best = { 0 };
	char through[PATH_MAX + 64];
	bool other = false;

	if (!try_build_id(id, "elf", &best)) {
		bool done = false;

		snprintf(through, sizeof(through), "/proc/%u/root%s", pid, path);
		/* without a build id the pid may be another process's by now */
		if (pid && id->size)
			done = try_file(through, id, &best, &other);
		if (!done)
			done = try_file(path, id, &best, &other);
		if (!done)
			try_debuglink(path, id, &best);
	}
	if (!best.table.n) {
		elf_symbols__free(&best);
		return other ? "is another build than the one recorded" : "has no symbols here";
	}
	*ret = best;
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

const char *module_files__read_vdso(const struct build_id *id, struct elf_symbols *ret)
{
	_cleanup_close_ int fd = open_vdso();
	struct elf_symbols best = { 0 };

	/* Kernels share addresses of nothing: without an id it may be anybody's. */
	if (!id->size)
		return "has no build id";
	if (fd >= 0 && has_id(fd, id)) {
		if (elf_symbols__read(fd, ret))
			return "has no symbols here";
		return NULL;
	}
	try_build_id(id, "vdso", &best);
	if (!best.table.n)
		return "is that of another kernel";
	*ret = best;
	return NULL;
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
static bool is_trusted(int fd, uint32_t pid)
{
	struct stat st, process;
	char path[32];

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return false;
	if (!st.st_uid || st.st_uid == geteuid())
		return true;
	snprintf(path, sizeof(path), "/proc/%u", pid);
	return !stat(path, &process) && process.st_uid == st.st_uid;
}

const char *module_files__read_perf_map(uint32_t pid, struct symbol_table *ret)
{
	struct symbol_table t = { 0 };
	struct buf text = { 0 };
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/%u/root/tmp/perf-%u.map", pid, inner_pid(pid));
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0) {
		snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	}
	if (fd < 0)
		return "has no /tmp/perf-PID.map";
	if (!is_trusted(fd, pid))
		return "has a perf-PID.map of another user";
	err = buf__read_fd(&text, fd, PERF_MAP_MAX);
	if (!err)
		err = text_symbols__perf_map(&text, &t) ?: symbol_table__finish(&t);
	buf__free(&text);
	if (err) {
		symbol_table__free(&t);
		return err == -ENOMEM ? no_memory : "has a perf-PID.map that cannot be read";
	}
	*ret = t;
	return NULL;
}
