/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Asks for the facts that probes need about a program or library. A process without privileges
 * reads the file: see examiner.h.
 */
#ifndef FRBPF_EXAMINE_PROBE_READER_H
#define FRBPF_EXAMINE_PROBE_READER_H

#include "common/err.h"
#include "examine/examiner.h"
#include "examine/probe/probe_found.h"

#define PROBE_READ_SECONDS 60 /* s for one file */

/*
 * From now on ask @e, which is borrowed; NULL: nobody. Call it while there is one thread; the other
 * functions are for any thread.
 */
void probe_reader__use(struct examiner *e);

/*
 * Does opening @path end? 0: yes, also if it fails, or if nobody can be asked. -ETIMEDOUT: its
 * file system hangs, so do not open it.
 */
int probe_reader__reach(const char *path);
/* No more questions for now: end the processes. */
void probe_reader__rest(void);

/*
 * Answer @q for the open file @fd, which processes see as @name. 0, or negative errno with a
 * message in @err: what the file lacks. -EIO: the parser died twice; -ETIMEDOUT: it took longer
 * than @seconds; -EBUSY: that happened recently; -EBADMSG: the answer is malformed.
 */
int probe_reader__ask(int fd, const char *name, const struct examine_probe *q, unsigned int seconds,
		      struct probe_found *ret, struct err *err);

#endif
