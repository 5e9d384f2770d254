// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/libbpf.h>
#include <errno.h>

#include "common/cleanup.h"
#include "detect/engine/source.h"
#include "reclaim.skel.h"

/* Kernels without CONFIG_MEMCG only have the tracepoints of direct reclaim. */
static int fit_reclaim(struct reclaim_bpf *skel)
{
	bool cgroups;
	int err = source__kernel_has("mm_vmscan_memcg_reclaim_begin", &cgroups);

	if (err)
		return err;
	bpf_program__set_autoload(skel->progs.rc_cgroup_begin, cgroups);
	bpf_program__set_autoload(skel->progs.rc_cgroup_end, cgroups);
	return 0;
}

static int reclaim_load(struct source *s, const struct source_env *env)
{
	struct reclaim_bpf *skel = reclaim_bpf__open();
	int err;

	if (!skel)
		return -errno;
	s->skel = skel;
	skel->rodata->daemon_pidns = env->pidns;
	err = fit_reclaim(skel);
	err = err ?: source__prepare(s, skel->obj, env);
	err = err ?: reclaim_bpf__load(skel);
	if (!err)
		source__bind(s, skel);
	return err;
}

static int reclaim_attach(struct source *s)
{
	struct reclaim_bpf *skel = s->skel;
	const struct source_link order[] = {
		{ skel->progs.rc_end, &skel->links.rc_end },
		{ skel->progs.rc_begin, &skel->links.rc_begin },
		{ skel->progs.rc_cgroup_end, &skel->links.rc_cgroup_end },
		{ skel->progs.rc_cgroup_begin, &skel->links.rc_cgroup_begin },
	};

	return source__attach(order, ARRAY_SIZE(order));
}

static int reclaim_look(struct source *s)
{
	struct reclaim_bpf *skel = s->skel;

	return source__iterate(skel->progs.rc_look);
}

static void reclaim_free(struct source *s)
{
	reclaim_bpf__destroy(s->skel);
}

const struct source_ops source_reclaim = {
	.source = FRBPF_SOURCE_RECLAIM,
	.name = "reclaim",
	.elf = reclaim_bpf__elf_bytes,
	.load = reclaim_load,
	.attach = reclaim_attach,
	.look = reclaim_look,
	.free = reclaim_free,
};
