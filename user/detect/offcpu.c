// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/libbpf.h>
#include <errno.h>

#include "common/cleanup.h"
#include "detect/source.h"
#include "offcpu.skel.h"

static int offcpu_load(struct source *s, const struct source_env *env)
{
	struct offcpu_bpf *skel = offcpu_bpf__open();
	int r;

	if (!skel)
		return -errno;
	s->skel = skel;
	skel->rodata->daemon_pidns = env->pidns;
	r = source__prepare(s, skel->obj, env);
	if (!r)
		r = offcpu_bpf__load(skel);
	if (!r)
		source__bind(s, skel);
	return r;
}

static int offcpu_attach(struct source *s)
{
	struct offcpu_bpf *skel = s->skel;
	const struct source_link order[] = {
		{ skel->progs.oc_switch, &skel->links.oc_switch },
	};

	return source__attach_waits(skel->progs.waits_newtask, &skel->links.waits_newtask,
				    skel->progs.waits_tasks, order, ARRAY_SIZE(order));
}

static void offcpu_free(struct source *s)
{
	offcpu_bpf__destroy(s->skel);
}

const struct source_ops source_offcpu = {
	.source = FRBPF_SOURCE_OFFCPU,
	.name = "offcpu",
	.load = offcpu_load,
	.attach = offcpu_attach,
	.free = offcpu_free,
	.elf = offcpu_bpf__elf_bytes,
};
