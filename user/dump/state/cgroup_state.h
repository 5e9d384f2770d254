/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads limits and counters of a task's cgroups from the cgroup file systems, versions 1 and 2.
 * Life: open once, add as often as needed, close.
 */
#ifndef FRBPF_DUMP_STATE_CGROUP_STATE_H
#define FRBPF_DUMP_STATE_CGROUP_STATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum cgroup_tree { CGROUP_V2, CGROUP_CPU, CGROUP_MEMORY, CGROUP_IO, CGROUP_TREES };

struct cgroup_roots {
	int fd[CGROUP_TREES]; /* the last three are version 1; -1: not mounted */
};

void cgroup_roots__open(struct cgroup_roots *ret);
void cgroup_roots__close(struct cgroup_roots *r);

/*
 * Add "cgroup", "cpu", "memory", "io" and "pressure" of the cgroups in @lines, which come from
 * /proc/TID/cgroup, to @state. See frbpf-manifest(5). What cannot be read is left out. 0 or
 * -ENOMEM.
 */
int cgroup_state__add(const struct cgroup_roots *r, const char *lines, json_t *state);

/* Parse a quota like "10000 100000" (us) to ns. False: there is no quota, or @text is malformed. */
bool cgroup_state__quota(const char *text, uint64_t *ret_quota, uint64_t *ret_period);
/*
 * Parse "some avg10=1.50 avg60=... total=12" ... to {"some_avg10": 1.5, "some_ns": 12000, ...},
 * owned by the caller. NULL: @text is something else.
 */
json_t *cgroup_state__pressure(const char *text);

#endif
