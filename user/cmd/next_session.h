/* SPDX-License-Identifier: GPL-2.0-only */
/* Which of an incident's dumps to open first. */
#ifndef FRBPF_CMD_NEXT_SESSION_H
#define FRBPF_CMD_NEXT_SESSION_H

#include <jansson.h>

/* The session of @manifest whose events explain best what its first trigger measures, of those that
 * have a file; where none is of that kind, the first with a file. Borrowed; NULL: none has one. */
const json_t *next_session(const json_t *manifest);

#endif
