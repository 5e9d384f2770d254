/* SPDX-License-Identifier: GPL-2.0-only */
/* The run-time linker's list of libraries, /etc/ld.so.cache of glibc. */
#ifndef FRBPF_DETECT_LD_CACHE_H
#define FRBPF_DETECT_LD_CACHE_H

#include <stddef.h>

/* Call @fn with the name and the path of each library of this machine's kind in the file's bytes;
 * every offset is checked. Not 0 from @fn ends it and is returned. -EINVAL: it is no such file. */
int ld_cache__each(const void *data, size_t len,
		   int (*fn)(const char *name, const char *path, void *arg), void *arg);

#endif
