/* SPDX-License-Identifier: GPL-2.0-only */
/* The system calls that the recorder, and processes that read recordings, may make. */
#ifndef FRBPF_CONFINE_ALLOWED_CALLS_H
#define FRBPF_CONFINE_ALLOWED_CALLS_H

#include "common/call_filter.h"

/* Begin a list with what both recorder and readers need. */
void allowed_calls__begin(struct call_filter *f);
void allowed_calls__add_recorder(struct call_filter *f);
void allowed_calls__add_reader(struct call_filter *f);

/*
 * Make calls that a filter refuses with SECCOMP_RET_TRAP fail with ENOSYS, as on a kernel that
 * lacks them. Each is logged by name, once. 0 or negative errno.
 */
int allowed_calls__watch_refused(void);

#endif
