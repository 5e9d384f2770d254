/* SPDX-License-Identifier: GPL-2.0-only */
/* When those whom a session records have all ended, with what they started: as perf record ends. */
#ifndef FRBPF_RECORD_TARGET_END_H
#define FRBPF_RECORD_TARGET_END_H

#include <stdbool.h>

struct session;
struct target_end;

/* @s (borrowed, started) records tasks. 0 or negative errno. */
int target_end__new(const struct session *s, struct target_end **ret);
/* Readable when target_end__reached() may have become true. */
int target_end__fd(const struct target_end *t);
/* All have ended. */
bool target_end__reached(struct target_end *t);
void target_end__free(struct target_end *t); /* before the session; NULL is legal */

#endif
