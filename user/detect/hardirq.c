// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/libbpf.h>

#include "common/cleanup.h"
#include "detect/engine/source_skel.h"
#include "hardirq.skel.h"

SOURCE_SKELETON(hardirq)

static int hardirq_attach(struct source *s)
{
	struct hardirq_bpf *skel = s->skel;
	const struct source_link order[] = {
		{ skel->progs.hi_exit, &skel->links.hi_exit },
		{ skel->progs.hi_entry, &skel->links.hi_entry },
	};

	return source__attach(order, ARRAY_SIZE(order));
}

const struct source_ops source_hardirq = {
	.source = FRBPF_SOURCE_HARDIRQ,
	.name = "hardirq",
	.elf = hardirq_bpf__elf_bytes,
	.load = hardirq_load,
	.attach = hardirq_attach,
	.free = hardirq_free,
};
