/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tells when all tasks of a session, and those that they started, have ended. perf record ends
 * then.
 */
#ifndef FRBPF_RECORD_TARGET_END_H
#define FRBPF_RECORD_TARGET_END_H

#include <stdbool.h>

struct session;
struct target_end;

/* Watch @s, which records tasks and was started; it is borrowed. 0 or negative errno. */
int target_end__new(const struct session *s, struct target_end **ret);
/* Becomes readable when target_end__reached() may have become true. */
int target_end__fd(const struct target_end *t);
/* Have all ended? */
bool target_end__reached(struct target_end *t);
/* call it before the session is freed; NULL is legal */
void target_end__free(struct target_end *t);

#endif
