/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Decides what the opener of a process that reads recordings opens for it: recordings, ELF files,
 * perf-PID.map files, and a few files of the kernel. The client may have been taken over, so files
 * are recognised by their first bytes, not by their names.
 */
#ifndef FRBPF_CONFINE_READER_OPENER_H
#define FRBPF_CONFINE_READER_OPENER_H

#include "common/opening.h"

/* Limit the rights of the opener. 0 or negative errno. */
int reader_opener__enter(void);
/* Returns a descriptor or negative errno; -ENOEXEC: the file is none of these. */
int reader_opener__open(const struct opening_request *r);

#endif
