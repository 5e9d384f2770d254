/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For `check` and `events`: where rules on programs attach, and which functions and probes a
 * program has.
 */
#ifndef FRBPF_CMD_PROBE_REPORT_H
#define FRBPF_CMD_PROBE_REPORT_H

#include <jansson.h>

#include "rules/ruleset.h"

/*
 * An array with the places of all rules of @source, owned by the caller. NULL: this source has no
 * such places.
 */
json_t *probe_report__make(const struct ruleset *rs, enum frbpf_source source);
void probe_report__print(const json_t *places);

/*
 * If @glob is "uprobe:PATH:GLOB" or "usdt:PATH:GLOB", call @fn for each matching function or static
 * probe, and return true. @fn gets the name as `when` takes it, and what is known about it.
 * @left_out is called for what cannot be read.
 */
bool probe_report__list(const char *glob,
			void (*fn)(const char *name, enum frbpf_source source, const char *meaning,
				   void *arg),
			void (*left_out)(const char *why, void *arg), void *arg);

#endif
