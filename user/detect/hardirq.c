// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/libbpf.h>
#include <errno.h>

#include "common/cleanup.h"
#include "detect/source.h"
#include "hardirq.skel.h"

static int hardirq_load(struct source *s, const struct source_env *env)
{
	struct hardirq_bpf *skel = hardirq_bpf__open();
	int r;

	if (!skel)
		return -errno;
	s->skel = skel;
	skel->rodata->daemon_pidns = env->pidns;
	r = source__prepare(s, skel->obj, env);
	if (!r)
		r = hardirq_bpf__load(skel);
	if (!r)
		source__bind(s, skel);
	return r;
}

/* What ends before what begins. */
static int hardirq_attach(struct source *s)
{
	struct hardirq_bpf *skel = s->skel;
	const struct source_link order[] = {
		{ skel->progs.hi_exit, &skel->links.hi_exit },
		{ skel->progs.hi_entry, &skel->links.hi_entry },
	};

	return source__attach(order, ARRAY_SIZE(order));
}

static void hardirq_free(struct source *s)
{
	hardirq_bpf__destroy(s->skel);
}

const struct source_ops source_hardirq = {
	.source = FRBPF_SOURCE_HARDIRQ,
	.name = "hardirq",
	.elf = hardirq_bpf__elf_bytes,
	.load = hardirq_load,
	.attach = hardirq_attach,
	.free = hardirq_free,
};
