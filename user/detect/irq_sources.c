// SPDX-License-Identifier: GPL-2.0-only
/* The sources that measure how long handlers of interrupts run: hardirq, softirq. */
#include <bpf/libbpf.h>

#include "common/cleanup.h"
#include "detect/engine/source_skel.h"
#include "hardirq.skel.h"
#include "softirq.skel.h"

/* ---- hardirq ---- */

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

/* ---- softirq ---- */

SOURCE_SKELETON(softirq)

static int softirq_attach(struct source *s)
{
	struct softirq_bpf *skel = s->skel;
	const struct source_link order[] = {
		{ skel->progs.si_exit, &skel->links.si_exit },
		{ skel->progs.si_request_end, &skel->links.si_request_end },
		{ skel->progs.si_entry, &skel->links.si_entry },
	};

	return source__attach(order, ARRAY_SIZE(order));
}

const struct source_ops source_softirq = {
	.source = FRBPF_SOURCE_SOFTIRQ,
	.name = "softirq",
	.elf = softirq_bpf__elf_bytes,
	.load = softirq_load,
	.attach = softirq_attach,
	.free = softirq_free,
};
