/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads /etc/ld.so.cache of glibc, the list of libraries of the run-time linker. */
#ifndef FRBPF_DETECT_LD_CACHE_H
#define FRBPF_DETECT_LD_CACHE_H

#include <stddef.h>

/*
 * Call @fn with the name and path of each library for this architecture in the bytes of the file.
 * Every offset is checked. If @fn returns non-zero, the walk ends and returns it. -EINVAL: the file
 * has another format.
 */
int ld_cache__each(const void *data, size_t len,
		   int (*fn)(const char *name, const char *path, void *arg), void *arg);

#endif
