/* SPDX-License-Identifier: GPL-2.0-only */
/* What may stand in `when` of a rule and in -e of a session, on this kernel. */
#ifndef FRBPF_CMD_EVENT_CATALOG_H
#define FRBPF_CMD_EVENT_CATALOG_H

#include <jansson.h>
#include <stdbool.h>

/*
 * {"events": [{"name", "in": "when", "-e" or "both", "kind", "meaning", "available"?, "fields"?}],
 * "left_out": [TEXT]}: those whose name matches @glob (NULL: all), in the order sources, hardware,
 * software, caches, PMUs, tracepoints. "available" is missing where it is not known without opening
 * it.
 * @fields: with the fields of each, {"name", "type", "meaning"?}.
 */
json_t *event_catalog__make(const char *glob, bool fields);

#endif
