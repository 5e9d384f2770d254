/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What limits the cgroups of a task, and what the kernel has counted there: read from the cgroup file systems, of
 * both versions. Life: open once, read as often as wanted, close.
 */
#ifndef FRBPF_DUMP_STATE_CGROUP_STATE_H
#define FRBPF_DUMP_STATE_CGROUP_STATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum cgroup_tree { CGROUP_V2, CGROUP_CPU, CGROUP_MEMORY, CGROUP_IO, CGROUP_TREES };

struct cgroup_roots {
	int fd[CGROUP_TREES]; /* the last three are of version 1; -1: not mounted */
};

void cgroup_roots__open(struct cgroup_roots *ret);
void cgroup_roots__close(struct cgroup_roots *r);

/*
 * Add to @state what /proc/TID/cgroup, in @lines, leads to: "cgroup", "cpu", "memory", "io", "pressure", see
 * frbpf-manifest(5). What cannot be read is left out. 0 or -ENOMEM.
 */
int cgroup_state__add(const struct cgroup_roots *r, const char *lines, json_t *state);

/* Numbers of "KEY VALUE" lines; false: @key is not there, or is "max". */
bool cgroup_state__number(const char *text, const char *key, uint64_t *ret);
/* Of "10000 100000": ns. False: there is no quota, or @text is something else. */
bool cgroup_state__quota(const char *text, uint64_t *ret_quota, uint64_t *ret_period);
/* "some avg10=1.50 avg60=... total=12" ...: {"some_avg10": 1.5, "some_ns": 12000, ...}; NULL: it is none. */
json_t *cgroup_state__pressure(const char *text);

#endif
