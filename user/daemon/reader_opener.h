/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the opener of a process that reads recordings opens for it, and nothing else: recordings,
 * ELF files, perf-PID.map files, and a few files of the kernel. Who asks may have been taken over,
 * so what a file begins with decides, not its name.
 */
#ifndef FRBPF_DAEMON_READER_OPENER_H
#define FRBPF_DAEMON_READER_OPENER_H

#include "common/opening.h"

/* Limit the rights of the opener. 0 or negative errno. */
int reader_opener__enter(void);
/* Returns a descriptor or negative errno; -ENOEXEC: it is no file of the kind. */
int reader_opener__open(const struct opening_request *r);

#endif
