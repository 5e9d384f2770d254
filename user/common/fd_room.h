/* SPDX-License-Identifier: GPL-2.0-only */
/* How many file descriptors are left. */
#ifndef FRBPF_COMMON_FD_ROOM_H
#define FRBPF_COMMON_FD_ROOM_H

#include <stddef.h>

/* Those that are open, and how many may be. 0 or negative errno. */
int fd_room__count(size_t *ret_open, size_t *ret_limit);

#endif
