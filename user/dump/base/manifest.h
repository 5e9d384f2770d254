/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The manifest of an incident, BASE/incidents/TIME.json: a contract for programs. Fields are only
 * ever added within one `schema`; times are UTC (RFC 3339, nanoseconds) and, as *_ns, of
 * CLOCK_MONOTONIC; durations are *_ns.
 */
#ifndef FRBPF_DUMP_BASE_MANIFEST_H
#define FRBPF_DUMP_BASE_MANIFEST_H

#include "dump/base/base_dir.h"
#include "dump/incident/incident.h"

#define MANIFEST_SCHEMA 1

/* Write the manifest of a WRITTEN incident, or write it again with what was merged since. */
int manifest__write(const struct base_dir *base, const struct incident *inc, const char *hostname,
		    struct err *err);

#endif
