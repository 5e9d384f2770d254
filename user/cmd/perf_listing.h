/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists the daemon and its sessions exactly like `perf daemon`. */
#ifndef FRBPF_CMD_PERF_LISTING_H
#define FRBPF_CMD_PERF_LISTING_H

#include <jansson.h>
#include <stdbool.h>

/* Print the `run` line of a session for people. A very long one is cut off after an event. */
void perf_listing__print_run(const json_t *session);

/* Print the daemon's line of status @s; @verbose: and the lines that perf daemon -v adds. */
void perf_listing__daemon(const json_t *s, bool verbose);
/* The same for session @v of the daemon at @base; a very long `run` line is whole in -v only. */
void perf_listing__session(const json_t *v, const char *base, bool verbose);

/* Print everything like perf daemon -x. */
void perf_listing__separated(const json_t *s, char sep);

#endif
