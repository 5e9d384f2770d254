/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Builds the paths that conditions match: those of the cgroup and of the executable of a task. A
 * path is built when an event is above the lowest threshold and a rule needs the path. So it is
 * correct even right after a rename. Paths are cut after FRBPF_MATCH_PATH bytes or FRBPF_PATH_NAMES
 * names. A path with more than PATH_STEPS steps (names and mounts) is empty: unknown.
 */
#ifndef FRBPF_PATHS_BPF_H
#define FRBPF_PATHS_BPF_H

#include "compat.bpf.h"
#include "abi.h"

#define PATH_NAME  256 /* NAME_MAX and its NUL */
#define PATH_STEPS 64

/* Ends with a NUL or after FRBPF_MATCH_PATH bytes; the rest is undefined. */
struct path_text {
	char text[FRBPF_MATCH_PATH + PATH_NAME];
};

/* The last names of the path, from the leaf up: addresses of strings in the kernel. */
struct path_walk {
	__u64 name[FRBPF_PATH_NAMES];
	__u64 n; /* in memory, so that the verifier does not track it */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct path_walk);
} walk SEC(".maps");

/* The automata of patterns on paths. One map for all sources. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2 * FRBPF_MAX_PATH_GLOBS); /* for old and new rules */
	__type(key, __u32);
	__type(value, struct frbpf_path_glob);
} path_globs SEC(".maps");

static __always_inline struct path_walk *walk_begin(struct path_text *out)
{
	struct path_walk *w;
	__u32 zero = 0;

	w = bpf_map_lookup_elem(&walk, &zero);
	if (w)
		w->n = 0;
	if (out)
		out->text[0] = '\0';
	return w;
}

static __always_inline void walk_add(struct path_walk *w, const void *name)
{
	w->name[w->n % FRBPF_PATH_NAMES] = (__u64)name;
	w->n++;
}

/* Write the names of @w from the root down, each after a '/'. */
static __always_inline void path_join(struct path_text *out, const struct path_walk *w)
{
	__u32 i, pos = 0;
	long len;

	for (i = 0; i < FRBPF_PATH_NAMES; i++) {
		if (i >= w->n || pos >= FRBPF_MATCH_PATH - 1)
			break;
		len = bpf_probe_read_kernel_str(out->text + pos + 1, PATH_NAME,
						(void *)w->name[(w->n - 1 - i) % FRBPF_PATH_NAMES]);
		if (len <= 0) {
			out->text[0] = '\0';
			return;
		}
		out->text[pos] = '/';
		pos += len;
	}
	if (i)
		return;
	out->text[0] = '/';
	out->text[1] = '\0';
}

/* Write the path of a cgroup as in /proc/PID/cgroup, from the root of the hierarchy. */
__noinline int cgroup_path(__u64 cgroup, struct path_text *out)
{
	struct cgroup *parent, *cgrp = (struct cgroup *)cgroup;
	struct path_walk *w = walk_begin(out);
	__u32 i;

	if (!bpf_core_type_exists(struct cgroup) || !w || !out || !cgrp)
		return 0;
	for (i = 0; i < PATH_STEPS; i++) {
		parent = (void *)BPF_CORE_READ(cgrp, self.parent);
		if (!parent) {
			path_join(out, w);
			return 0;
		}
		walk_add(w, BPF_CORE_READ(cgrp, kn, name));
		cgrp = BPF_CORE_READ((struct cgroup_subsys_state *)parent, cgroup);
	}
	return 0;
}

/*
 * Write the path of an open file as /proc/PID/fd shows it to a process with the same mounts and
 * without a chroot.
 */
__noinline int file_path(__u64 addr, struct path_text *out)
{
	struct file *file = (struct file *)addr;
	struct path_walk *w = walk_begin(out);
	struct dentry *dentry, *parent;
	struct mount *mount, *above;
	__u32 i;

	if (!w || !out || !file)
		return 0;
	dentry = BPF_CORE_READ(file, f_path.dentry);
	mount = (void *)BPF_CORE_READ(file, f_path.mnt) - bpf_core_field_offset(struct mount, mnt);
	for (i = 0; i < PATH_STEPS; i++) {
		above = mount;
		if (dentry == BPF_CORE_READ(mount, mnt.mnt_root)) {
			above = BPF_CORE_READ(mount, mnt_parent);
			if (above == mount)
				break;
			dentry = BPF_CORE_READ(mount, mnt_mountpoint);
			mount = above;
			continue;
		}
		walk_add(w, BPF_CORE_READ(dentry, d_name.name));
		parent = BPF_CORE_READ(dentry, d_parent);
		if (parent == dentry) /* in no directory: memfd_create() */
			break;
		dentry = parent;
	}
	if (i < PATH_STEPS)
		path_join(out, w);
	return 0;
}

/* Write the path of the executable of @mm. It is empty for a task that has given up its memory. */
__noinline int exe_path(__u64 mm, struct path_text *out)
{
	return file_path((__u64)BPF_CORE_READ((struct mm_struct *)mm, exe_file), out);
}

/* What a step of the automaton reads. */
struct path_part {
	char text[32];
};

/* The states that the automaton is in. */
struct path_set {
	__u64 low, high;
};

/*
 * Move the automaton over a part of a path. False: the path ends in it. A global function, so that
 * the verifier walks one part, not the whole path.
 */
__noinline int path_part_step(const struct frbpf_path_glob *glob, const struct path_part *part,
			      struct path_set *set)
{
	__u64 low, high, was, loop_low, loop_high;
	__u32 i, byte = 0;

	if (!glob || !part || !set)
		return 0;
	low = set->low;
	high = set->high;
	loop_low = glob->loop[0];
	loop_high = glob->loop[1];
	for (i = 0; i < sizeof(part->text); i++) {
		byte = (__u8)part->text[i];
		if (!byte)
			break;
		was = low & glob->next[byte][0];
		low = was << 1 | (low & loop_low);
		high = (high & glob->next[byte][1]) << 1 | was >> 63 | (high & loop_high);
	}
	set->low = low;
	set->high = high;
	return byte;
}

/* Does the automaton @idx accept the path? See struct frbpf_path_glob. No automaton accepts "". */
__noinline int path_glob_holds(__u32 idx, const struct path_text *path)
{
	struct frbpf_path_glob *glob = bpf_map_lookup_elem(&path_globs, &idx);
	struct path_set set = { .low = 1 };
	__u32 i;

	if (!glob || !path || !path->text[0])
		return 0;
	for (i = 0; i < FRBPF_MATCH_PATH; i += sizeof(struct path_part)) {
		if (!path_part_step(glob, (const struct path_part *)&path->text[i], &set))
			break;
	}
	return ((set.low & glob->accept[0]) | (set.high & glob->accept[1])) != 0;
}

#endif
