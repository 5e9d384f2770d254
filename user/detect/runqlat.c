// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/libbpf.h>

#include "common/cleanup.h"
#include "detect/engine/source_skel.h"
#include "runqlat.skel.h"

SOURCE_SKELETON_WAITS(runqlat)

static int runqlat_attach(struct source *s)
{
	struct runqlat_bpf *skel = s->skel;
	const struct source_link order[] = {
		{ skel->progs.rq_switch, &skel->links.rq_switch },
		{ skel->progs.rq_wakeup_new, &skel->links.rq_wakeup_new },
		{ skel->progs.rq_wakeup, &skel->links.rq_wakeup },
	};

	return source__attach_waits(skel->progs.waits_newtask, &skel->links.waits_newtask,
				    skel->progs.waits_tasks, order, ARRAY_SIZE(order));
}

const struct source_ops source_runqlat = {
	.source = FRBPF_SOURCE_RUNQLAT,
	.name = "runqlat",
	.elf = runqlat_bpf__elf_bytes,
	.load = runqlat_load,
	.attach = runqlat_attach,
	.look = runqlat_look,
	.free = runqlat_free,
};
