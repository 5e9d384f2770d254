/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Opens the files that have the symbols of user code, place by place, where perf looks for them. Nothing of
 * others is read. Each function returns a descriptor that is the caller's, or a negative errno. On a file system
 * that hangs they do, too.
 */
#ifndef FRBPF_SYMBOLS_FILE_SEARCH_H
#define FRBPF_SYMBOLS_FILE_SEARCH_H

#include <stdint.h>

#include "perfdata/build_id.h"

struct mapped_file {
	const char *path;	   /* as mapped */
	const struct build_id *id; /* size 0: not known */
	uint32_t pid;		   /* who had it mapped, from @start to @end; 0: not known */
	uint64_t start, end;
};

/* Candidate @i, below FILE_SEARCH_MAPPED, for the file itself: as seen by the process if that still lives, what it has
 * mapped there (a deleted file, too), its executable, as seen by us, perf's copy. */
#define FILE_SEARCH_MAPPED 5
int file_search__mapped(const struct mapped_file *m, unsigned int i);

/* Candidate @i, below FILE_SEARCH_DEBUG, for the debug information of the file at @path: two by its build id, then those
 * by the name @link that it gives ("": none). */
#define FILE_SEARCH_DEBUG 5
int file_search__debug(const char *path, const struct build_id *id, const char *link,
		       unsigned int i);

/* The vDSO of the running kernel, if @id is its build id or that of the kernel, or the one that perf has kept. */
int file_search__vdso(const struct build_id *id);

/* The perf-PID.map of the process. -EPERM: one that neither root, nor we, nor its own user wrote. */
int file_search__perf_map(uint32_t pid);

#endif
