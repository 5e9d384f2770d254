/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether somebody removes the base, its lock or its socket while the daemon runs: nobody could reach
 * it then, and another could start beside it. Life: open when they are there, ask as often as the
 * descriptor is readable, close it.
 */
#ifndef FRBPF_DAEMON_BASE_WATCH_H
#define FRBPF_DAEMON_BASE_WATCH_H

#include <stdbool.h>
#include <stddef.h>

/* Returns a descriptor or negative errno. */
int base_watch__open(const char *base);
/* True: something is gone, which @ret names. */
bool base_watch__lost(int fd, const char *base, char *ret, size_t size);
/* Say so in the system's log: ours was in the base, perhaps. */
void base_watch__tell(const char *gone);

#endif
