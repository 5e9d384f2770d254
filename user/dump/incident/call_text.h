/* SPDX-License-Identifier: GPL-2.0-only */
/* The system call of a trigger as people write it: openat("/srv/x") = -1 ENOENT, fsync(</srv/x>) = 0 */
#ifndef FRBPF_DUMP_INCIDENT_CALL_TEXT_H
#define FRBPF_DUMP_INCIDENT_CALL_TEXT_H

#include "common/buf.h"
#include "dump/incident/incident.h"

/*
 * Append the call of @it, with its path or file, or the address of the other side, and what it returned.
 * Arguments that are not known are "...". A path has any bytes, and is cut as in struct
 * frbpf_trigger. Nothing is appended for other sources. 0 or -ENOMEM.
 */
int call_text__add(struct buf *b, const struct incident_trigger *it);

#endif
