/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Decides what the opener of a process that reads recordings opens for it: recordings, ELF files,
 * perf-PID.map files, and a few files of the kernel. The client may have been taken over, so the
 * first bytes of a file decide, not its name.
 */
#ifndef FRBPF_DAEMON_READER_OPENER_H
#define FRBPF_DAEMON_READER_OPENER_H

#include "common/opening.h"

/* Limit the rights of the opener. 0 or negative errno. */
int reader_opener__enter(void);
/* Returns a descriptor or negative errno; -ENOEXEC: the file is of no such kind. */
int reader_opener__open(const struct opening_request *r);

#endif
