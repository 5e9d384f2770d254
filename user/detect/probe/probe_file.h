/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the files that PATH of `uprobe:PATH:SYMBOL` means:
 *  - an absolute path: that file; if it does not exist, the files that running processes see at
 *    that path, also in containers;
 *  - an absolute path with a glob, or `*` alone: programs and libraries that running processes have
 *    mapped, also in containers;
 *  - otherwise the name of a library (`libc`, `libc.so.6`), as the run-time linker finds it, or of
 *    a program in $PATH.
 */
#ifndef FRBPF_DETECT_PROBE_FILE_H
#define FRBPF_DETECT_PROBE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "common/err.h"

#define PROBE_FILES_MAX 8192 /* files found for one PATH */

struct probe_file {
	char *open;	 /* path to open it by, while its process lives; owned */
	char *name;	 /* path as its processes see it; owned */
	bool of_process; /* @open is a path below /proc */
	struct stat st;
};

struct probe_files { /* { 0 } is an empty one */
	struct probe_file *v;
	size_t n;
	bool searched; /* found in running processes: some may lack the symbol */
};

/*
 * Find at least one file. 0, or negative errno with a message in @err; -EACCES: there may be some
 * that we are not allowed to see.
 */
int probe_files__find(const char *path, struct probe_files *ret, struct err *err);
/*
 * Open for reading a file that probe_files__find() has found, if it is still the same file. Returns
 * a descriptor that the caller closes, or negative errno with a message in @err.
 */
int probe_file__open(const struct probe_file *file, struct err *err);
void probe_files__free(struct probe_files *files);

/* Reads /etc/ld.so.cache of glibc, the list of libraries of the run-time linker. */

/*
 * Call @fn with the name and path of each library for this architecture in the bytes of the file.
 * Every offset is checked. If @fn returns non-zero, the walk ends and returns it. -EINVAL: the file
 * has another format.
 */
int ld_cache__each(const void *data, size_t len,
		   int (*fn)(const char *name, const char *path, void *arg), void *arg);

#endif
