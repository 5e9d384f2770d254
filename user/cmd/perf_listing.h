/* SPDX-License-Identifier: GPL-2.0-only */
/* The daemon and its sessions as `perf daemon` lists them, to the letter. */
#ifndef FRBPF_CMD_PERF_LISTING_H
#define FRBPF_CMD_PERF_LISTING_H

#include <jansson.h>
#include <stdbool.h>

/* The line of a session's `run`, to be read by people: a very long one is cut behind an event. */
void perf_listing__print_run(const json_t *session);

/* The daemon's line of status @s; @verbose: and what perf daemon -v has below it. */
void perf_listing__daemon(const json_t *s, bool verbose);
/* The same of session @v of the daemon at @base. */
void perf_listing__session(const json_t *v, const char *base, bool verbose);

/* All of it as perf daemon -x prints it. */
void perf_listing__separated(const json_t *s, char sep);

#endif
