/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Asks what probes need to know of a program or library: the file is read by a process without rights (examiner.h), which
 * may die of it.
 */
#ifndef FRBPF_EXAMINE_PROBE_READER_H
#define FRBPF_EXAMINE_PROBE_READER_H

#include "common/err.h"
#include "examine/examiner.h"
#include "examine/probe/probe_found.h"

#define PROBE_READ_SECONDS 60 /* for one file */

/* Ask @e from now on, from any thread; borrowed. NULL: nobody. For when there is one thread. */
void probe_reader__use(struct examiner *e);

/* Does the file at @path answer? 0: somebody could open it, or was told why not, or nobody can be asked; -ETIMEDOUT: its
 * file system hangs, and so would we. */
int probe_reader__reach(const char *path);
/* That was all for now: processes that wait for questions end. */
void probe_reader__rest(void);

/*
 * Answer @q for the open file @fd, which processes see as @name. 0, or negative errno with words in @err: what the file
 * lacks; -EIO: who read it has died twice; -ETIMEDOUT and -EBUSY: it takes, or took lately, longer than @seconds; -EBADMSG:
 * the answer made no sense.
 */
int probe_reader__ask(int fd, const char *name, const struct examine_probe *q, unsigned int seconds,
		      struct probe_found *ret, struct err *err);

#endif
