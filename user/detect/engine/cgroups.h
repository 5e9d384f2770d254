/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cgroups (v2) that rules name, by path, and the map with their ids that BPF compares with.
 * Life of a set: make for the new rules, resolve once they may come into force, commit, free. While
 * there is one in force, BPF programs follow cgroups that are made and removed.
 */
#ifndef FRBPF_DETECT_CGROUPS_H
#define FRBPF_DETECT_CGROUPS_H

#include "common/cgroup_mount.h"
#include "common/err.h"
#include "detect/engine/slots.h"
#include "rules/ruleset.h"

struct cgroups; /* what is in force */
struct cgroup_set;

/* @ids_fd: the map of ids, borrowed. NULL: out of memory. */
struct cgroups *cgroups__new(int ids_fd);
void cgroups__free(struct cgroups *c);

/* The paths of @rules, each with its index; those in force keep theirs. 0, -ENOSPC or -ENOMEM. The
 * rules must outlive it. */
int cgroup_set__make(const struct cgroups *c, const struct rule_conf *rules, size_t n_rules,
		     struct cgroup_set **ret);
/* Is @path one of them? Then its index is in @ret. */
bool cgroup_set__has(const struct cgroup_set *set, const char *path, uint32_t *ret);
/* Look them up, and watch for those that come and go. 0, or negative errno with words. */
int cgroup_set__resolve(const struct cgroup_set *set, struct cgroups *c, struct err *err);
/* It is in force now. */
void cgroup_set__commit(const struct cgroup_set *set, struct cgroups *c);
void cgroup_set__free(struct cgroup_set *set);

/* The id of the cgroup at @path below the mount point @mount. 0 or negative errno. */
int cgroup__id(const char *mount, const char *path, uint64_t *ret);
/* The path of that which we are in. 0, -ENOENT, -ENAMETOOLONG or the errno of reading it. */
int cgroup__own(char *buf, size_t size);
/* Is @path that of @above, or of one below it? */
bool cgroup__is_below(const char *path, const char *above);

#endif
