// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/libbpf.h>

#include "common/cleanup.h"
#include "detect/engine/source_skel.h"
#include "oncpu.skel.h"

SOURCE_SKELETON(oncpu)

static int oncpu_attach(struct source *s)
{
	struct oncpu_bpf *skel = s->skel;
	const struct source_link order[] = {
		{ skel->progs.on_switch, &skel->links.on_switch },
		{ skel->progs.on_runtime, &skel->links.on_runtime },
	};

	return source__attach(order, ARRAY_SIZE(order));
}

const struct source_ops source_oncpu = {
	.source = FRBPF_SOURCE_ONCPU,
	.name = "oncpu",
	.elf = oncpu_bpf__elf_bytes,
	.load = oncpu_load,
	.attach = oncpu_attach,
	.free = oncpu_free,
};
