/* SPDX-License-Identifier: GPL-2.0-only */
/* System calls as people write them: openat("/srv/x") = -1 ENOENT, fsync(</srv/x>) = 0. */
#ifndef FRBPF_DUMP_INCIDENT_CALL_TEXT_H
#define FRBPF_DUMP_INCIDENT_CALL_TEXT_H

#include "common/buf.h"
#include "dump/incident/incident.h"

/*
 * Append the call of @it: its path, file or peer address, and what it returned. Unknown arguments
 * are "...". A path may have any bytes; it is cut as in struct frbpf_trigger. Nothing is appended
 * for other sources. 0 or -ENOMEM.
 */
int call_text__add(struct buf *b, const struct incident_trigger *it);

#endif
