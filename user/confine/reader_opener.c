// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/rights.h"
#include "confine/reader_opener.h"
#include "symbols/file_search.h"

#define ELF_MAGIC	"\177ELF"
#define RECORDING_MAGIC "PERFILE2"

int reader_opener__enter(void)
{
	return rights__keep_reader() ?: opening_calls__limit();
}

/* Check that the file begins with @magic. Takes @fd over; returns it, or negative errno. */
static int check_fd_magic(int fd, const char *magic)
{
	char begin[8];
	size_t len = strlen(magic);

	if (fd < 0)
		return fd;
	if (pread(fd, begin, len, 0) == (ssize_t)len && !memcmp(begin, magic, len))
		return fd;
	close(fd);
	return -ENOEXEC;
}

static int open_recording(const char *path)
{
	_cleanup_close_ int fd = opening__recording(path);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		return -errno;
	return S_ISREG(st.st_mode) ? check_fd_magic(TAKE_FD(fd), RECORDING_MAGIC) : -ENXIO;
}

/* Does @path consist of @begin, one or more names, and @end? */
static bool is_between(const char *path, const char *begin, const char *end)
{
	size_t len = strlen(path), b = strlen(begin), e = strlen(end);

	return len > b + e && !strncmp(path, begin, b) && !strcmp(path + len - e, end) &&
	       !strstr(path, "/../");
}

static bool is_kernel_file(const char *path)
{
	static const char *const names[] = { "/proc/kallsyms", "/proc/modules",
					     "/sys/kernel/notes" };
	const char *home = getenv("HOME");
	char kept[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(path, names[i]))
			return true;
	if (is_between(path, "/sys/module/", "/notes/.note.gnu.build-id"))
		return true;
	if (!home || home[0] != '/' ||
	    snprintf(kept, sizeof(kept), "%s/.debug/[kernel.kallsyms]/", home) >= PATH_MAX)
		return false;
	return is_between(path, kept, "/kallsyms");
}

static int open_kernel(const char *path)
{
	RAISED_RIGHTS(!strncmp(path, "/proc/", 6) ? RIGHTS_PROCESSES : 0);

	return is_kernel_file(path) ? opening__kernel(path) : -EACCES;
}

int reader_opener__open(const struct opening_request *r)
{
	struct build_id id = { .size = r->id_size };
	const struct mapped_file m = { r->path, &id, r->pid, r->start, r->end };

	_Static_assert(sizeof(id.data) == OPENING_ID_MAX, "the same size");
	memcpy(id.data, r->id, sizeof(id.data));
	switch (r->kind) {
	case OPENING_RECORDING:
		return open_recording(r->path);
	case OPENING_KERNEL:
		return open_kernel(r->path);
	case OPENING_TEMPORARY:
		return opening__temporary();
	case OPENING_MAPPED:
		return check_fd_magic(file_search__mapped(&m, r->candidate), ELF_MAGIC);
	case OPENING_DEBUG:
		return check_fd_magic(file_search__debug(r->path, &id, r->link, r->candidate),
				      ELF_MAGIC);
	case OPENING_VDSO:
		return check_fd_magic(file_search__vdso(&id), ELF_MAGIC);
	case OPENING_PERF_MAP:
		return file_search__perf_map(r->pid);
	}
	return -EINVAL;
}
