/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Opens files with the symbols of user code, one candidate after the other, where perf looks for
 * them. Files of other users are opened, but not read. Each function returns a descriptor, which
 * the caller closes, or a negative errno. They hang if a file system hangs.
 */
#ifndef FRBPF_SYMBOLS_FILE_SEARCH_H
#define FRBPF_SYMBOLS_FILE_SEARCH_H

#include <stdint.h>

#include "perfdata/build_id.h"

struct mapped_file {
	const char *path;	   /* as mapped */
	const struct build_id *id; /* size 0: not known */
	uint32_t pid;		   /* process that mapped it, from @start to @end; 0: unknown */
	uint64_t start, end;
};

/*
 * Open candidate @i, below FILE_SEARCH_MAPPED, for the file itself. In order: the path in the mount
 * namespace of the process; the file that it maps there, even if deleted; its executable; the path
 * in our namespace; perf's copy.
 */
#define FILE_SEARCH_MAPPED   5
#define FILE_SEARCH_AS_NAMED 3 /* the path in our namespace */
int file_search__mapped(const struct mapped_file *m, unsigned int i);

/*
 * Open candidate @i, below FILE_SEARCH_DEBUG, for the debug information of the file at @path. The
 * first two go by build id, the others by @link, the name in .gnu_debuglink ("": none).
 */
#define FILE_SEARCH_DEBUG 5
int file_search__debug(const char *path, const struct build_id *id, const char *link,
		       unsigned int i);

/* Open the vDSO of the running kernel, if @id is its build id or that of the kernel; else the copy
 * that perf kept. */
int file_search__vdso(const struct build_id *id);

/* Open the perf-PID.map of the process. -EPERM: its owner is not root, nor we, nor the user of the
 * process. */
int file_search__perf_map(uint32_t pid);

#endif
