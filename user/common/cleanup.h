/* SPDX-License-Identifier: GPL-2.0-only */
/* Cleanup attributes: a resource is released when its variable leaves the scope (as in systemd). */
#ifndef FRBPF_COMMON_CLEANUP_H
#define FRBPF_COMMON_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclose(FILE **f)
{
	if (*f)
		fclose(*f);
}

#define _cleanup_free_	 __attribute__((cleanup(cleanup_free)))
#define _cleanup_close_	 __attribute__((cleanup(cleanup_close)))
#define _cleanup_fclose_ __attribute__((cleanup(cleanup_fclose)))

/* Give a resource away: the value is returned, the variable no longer owns it. */
#define TAKE_PTR(p)                                                                                \
	({                                                                                         \
		__typeof__(p) _take = (p);                                                         \
		(p) = NULL;                                                                        \
		_take;                                                                             \
	})
#define TAKE_FD(fd)                                                                                \
	({                                                                                         \
		int _take = (fd);                                                                  \
		(fd) = -1;                                                                         \
		_take;                                                                             \
	})

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
