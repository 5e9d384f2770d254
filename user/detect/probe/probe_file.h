/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which files PATH of `uprobe:PATH:SYMBOL` means:
 *  - an absolute path: that file; where it is not there, what running processes see under that path,
 *    in containers too;
 *  - an absolute path with a glob, or `*` alone: the programs and libraries that running processes
 *    have mapped, in containers too;
 *  - else the name of a library (`libc`, `libc.so.6`), as the run-time linker finds it, or of a program
 *    in $PATH.
 */
#ifndef FRBPF_DETECT_PROBE_FILE_H
#define FRBPF_DETECT_PROBE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "common/err.h"

#define PROBE_FILES_MAX 8192 /* looked at for one PATH */

struct probe_file {
	char *open;	 /* what to open it by, while its process lives; owned */
	char *name;	 /* as its processes see it; owned */
	bool of_process; /* @open is a path below /proc that we have made */
	struct stat st;
};

struct probe_files { /* { 0 } is an empty one */
	struct probe_file *v;
	size_t n;
	bool searched; /* in running processes: not all of these need have what is looked for */
};

/* At least one, or negative errno with words in @err; -EACCES: perhaps there are some that we may not
 * look at. */
int probe_files__find(const char *path, struct probe_files *ret, struct err *err);
/* Open one of them for reading, if it is still that file. A descriptor, which is the caller's, or negative errno with words
 * in @err. */
int probe_file__open(const struct probe_file *file, struct err *err);
void probe_files__free(struct probe_files *files);

#endif
