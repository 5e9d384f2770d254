/* SPDX-License-Identifier: GPL-2.0-only */
/* The command in a session's line, after the options. */
#ifndef FRBPF_DAEMON_SESSION_COMMAND_H
#define FRBPF_DAEMON_SESSION_COMMAND_H

#include "rules/diag.h"

/*
 * Can the session run the command? @command: NULL-terminated words, at least one; @span: the first
 * one in @src. 0, or -EINVAL with an error in @d. Words that only a shell would understand get a
 * warning.
 */
int session_command__check(struct diags *d, const struct source_text *src, struct span span,
			   char *const *command);

#endif
