/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cgroups (v2) that rules name by path, and the map of their ids, which BPF compares. Life of a
 * set: make for the new rules, resolve before they come into force, commit, free. While a set with
 * cgroups is in force, BPF programs keep the ids up to date as cgroups are created and removed.
 */
#ifndef FRBPF_DETECT_CGROUPS_H
#define FRBPF_DETECT_CGROUPS_H

#include "common/cgroup_mount.h"
#include "common/err.h"
#include "detect/engine/rule_table.h"
#include "rules/ruleset.h"

struct cgroups; /* those of the rules in force */
struct cgroup_set;

/* @ids_fd: the map of ids, borrowed. NULL: out of memory. */
struct cgroups *cgroups__new(int ids_fd);
void cgroups__free(struct cgroups *c);

/*
 * Collect the paths in @rules, which must outlive the set. Each gets an index; those in force keep
 * theirs. 0, -ENOSPC or -ENOMEM.
 */
int cgroup_set__make(const struct cgroups *c, const struct rule_conf *rules, size_t n_rules,
		     struct cgroup_set **ret);
/* Is @path in the set? If so, *ret is its index. */
bool cgroup_set__has(const struct cgroup_set *set, const char *path, uint32_t *ret);
/*
 * Look up the ids, and follow cgroups that come and go. 0, or negative errno with a message in
 * @err.
 */
int cgroup_set__resolve(const struct cgroup_set *set, struct cgroups *c, struct err *err);
/* Mark the set as the one in force. */
void cgroup_set__commit(const struct cgroup_set *set, struct cgroups *c);
void cgroup_set__free(struct cgroup_set *set);

/* Get the id of the cgroup at @path below the mount point @mount. 0 or negative errno. */
int cgroup__id(const char *mount, const char *path, uint64_t *ret);
/* Get the id of the cgroup whose directory is open as @fd. */
int cgroup__id_of(int fd, uint64_t *ret);
/* Get the path of our own cgroup. 0, -ENOENT, -ENAMETOOLONG or negative errno of reading it. */
int cgroup__own(char *buf, size_t size);
/* Is the cgroup @path the same as @above, or below it? */
bool cgroup__is_below(const char *path, const char *above);

#endif
