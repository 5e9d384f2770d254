/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists what `when` of a rule and -e of a session can name on this kernel. */
#ifndef FRBPF_CMD_EVENT_CATALOG_H
#define FRBPF_CMD_EVENT_CATALOG_H

#include <jansson.h>
#include <stdbool.h>

/*
 * Make {"events": [{"name", "in": "when", "-e" or "both", "kind", "meaning", "available"?,
 * "fields"?}], "left_out": [TEXT]}. It has the events whose name matches @glob (NULL: all), in the
 * order sources, hardware, software, caches, PMUs, tracepoints. "available" is missing if only
 * opening the event would tell. @fields: add the fields of each event, {"name", "type",
 * "meaning"?}. The caller owns the result.
 */
json_t *event_catalog__make(const char *glob, bool fields);

#endif
