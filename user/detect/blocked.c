// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/libbpf.h>

#include "common/cleanup.h"
#include "detect/engine/source_skel.h"
#include "blocked.skel.h"

SOURCE_SKELETON_WAITS(blocked)

static int blocked_attach(struct source *s)
{
	struct blocked_bpf *skel = s->skel;
	const struct source_link order[] = {
		{ skel->progs.bl_wakeup, &skel->links.bl_wakeup },
		{ skel->progs.bl_switch, &skel->links.bl_switch },
	};

	return source__attach_waits(skel->progs.waits_newtask, &skel->links.waits_newtask,
				    skel->progs.waits_tasks, order, ARRAY_SIZE(order));
}

const struct source_ops source_blocked = {
	.source = FRBPF_SOURCE_BLOCKED,
	.name = "blocked",
	.load = blocked_load,
	.attach = blocked_attach,
	.look = blocked_look,
	.free = blocked_free,
	.elf = blocked_bpf__elf_bytes,
};
