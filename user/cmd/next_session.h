/* SPDX-License-Identifier: GPL-2.0-only */
/* Which dump of an incident to open first. */
#ifndef FRBPF_CMD_NEXT_SESSION_H
#define FRBPF_CMD_NEXT_SESSION_H

#include <jansson.h>

/*
 * The session of @manifest, among those with a file, whose events best explain what its first
 * trigger measures. If none does, the first one with a file. Borrowed; NULL: none has a file.
 */
const json_t *next_session(const json_t *manifest);

#endif
