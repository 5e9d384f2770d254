// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/libbpf.h>

#include "common/cleanup.h"
#include "detect/engine/source_skel.h"
#include "offcpu.skel.h"

SOURCE_SKELETON_WAITS(offcpu)

static int offcpu_attach(struct source *s)
{
	struct offcpu_bpf *skel = s->skel;
	const struct source_link order[] = {
		{ skel->progs.oc_switch, &skel->links.oc_switch },
	};

	return source__attach_waits(skel->progs.waits_newtask, &skel->links.waits_newtask,
				    skel->progs.waits_tasks, order, ARRAY_SIZE(order));
}

const struct source_ops source_offcpu = {
	.source = FRBPF_SOURCE_OFFCPU,
	.name = "offcpu",
	.load = offcpu_load,
	.attach = offcpu_attach,
	.look = offcpu_look,
	.free = offcpu_free,
	.elf = offcpu_bpf__elf_bytes,
};
