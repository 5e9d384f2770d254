/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Notices when somebody removes the base, its lock or its socket while the daemon runs. Commands
 * could no longer reach it then, and a second daemon could start. Life: open once these files
 * exist, ask whenever the descriptor is readable, close it.
 */
#ifndef FRBPF_DAEMON_BASE_WATCH_H
#define FRBPF_DAEMON_BASE_WATCH_H

#include <stdbool.h>
#include <stddef.h>

/* Returns a descriptor, owned by the caller, or negative errno. */
int base_watch__open(const char *base);
/* True: one of these files is gone; its path is in @ret. */
bool base_watch__lost(int fd, const char *base, char *ret, size_t size);
/* Report it to the system's log, as our own log may have been in the base. */
void base_watch__report(const char *gone);

#endif
