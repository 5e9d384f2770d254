// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keeps the ids of the cgroups that rules name up to date. A restarted service gets a cgroup with
 * the same path and another id, and a cgroup may be named before it exists. These programs rarely
 * run, so they can afford to look up a path.
 */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "abi.h"

char LICENSE[] SEC("license") = "GPL";

/* See engine.bpf.h. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FRBPF_MAX_CGROUPS);
	__type(key, __u32);
	__type(value, __u64);
} cgroups SEC(".maps");

/* Maps paths to indexes in `cgroups`. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2 * FRBPF_MAX_CGROUPS); /* for old and new rules */
	__type(key, struct frbpf_cgroup_path);
	__type(value, __u32);
} paths SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct frbpf_cgroup_path);
} path_room SEC(".maps");

/* Find the entry for the id of the cgroup (v2) at @path; NULL: no rule names it. */
static __always_inline __u64 *id_of(struct cgroup *cgrp, const char *path)
{
	struct frbpf_cgroup_path *key;
	__u32 *index, zero = 0;

	if (BPF_CORE_READ(cgrp, root, hierarchy_id)) /* v1 */
		return NULL;
	key = bpf_map_lookup_elem(&path_room, &zero);
	if (!key)
		return NULL;
	__builtin_memset(key, 0, sizeof(*key));
	bpf_probe_read_kernel_str(key->text, sizeof(key->text), path);
	index = bpf_map_lookup_elem(&paths, key);
	return index ? bpf_map_lookup_elem(&cgroups, index) : NULL;
}

SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(cg_mkdir, struct cgroup *cgrp, const char *path)
{
	__u64 *id = id_of(cgrp, path);

	if (id)
		*id = BPF_CORE_READ(cgrp, kn, id);
	return 0;
}

SEC("tp_btf/cgroup_rmdir")
int BPF_PROG(cg_rmdir, struct cgroup *cgrp, const char *path)
{
	__u64 *id = id_of(cgrp, path);

	if (id && *id == BPF_CORE_READ(cgrp, kn, id))
		*id = 0;
	return 0;
}
