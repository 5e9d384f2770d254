/* SPDX-License-Identifier: GPL-2.0-only */
/* For `check` and `events`: where rules on programs attach, and what a program has to attach to. */
#ifndef FRBPF_CMD_PROBE_REPORT_H
#define FRBPF_CMD_PROBE_REPORT_H

#include <jansson.h>

#include "rules/ruleset.h"

/* The places of all rules of @source, an array; NULL: it has no such places. Owned by the caller. */
json_t *probe_report__make(const struct ruleset *rs, enum frbpf_source source);
void probe_report__print(const json_t *places);

/*
 * If @glob is "uprobe:PATH:GLOB" or "usdt:PATH:GLOB": call @fn with the name of each function or static
 * probe that it matches, as `when` takes it, and what is known of it, and return true. What cannot be
 * looked at is told by @left_out.
 */
bool probe_report__list(const char *glob,
			void (*fn)(const char *name, enum frbpf_source source, const char *meaning,
				   void *arg),
			void (*left_out)(const char *why, void *arg), void *arg);

#endif
