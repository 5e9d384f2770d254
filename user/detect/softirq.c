// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/libbpf.h>
#include <errno.h>

#include "common/cleanup.h"
#include "detect/source.h"
#include "softirq.skel.h"

static int softirq_load(struct source *s, const struct source_env *env)
{
	struct softirq_bpf *skel = softirq_bpf__open();
	int r;

	if (!skel)
		return -errno;
	s->skel = skel;
	skel->rodata->daemon_pidns = env->pidns;
	r = source__prepare(s, skel->obj, env);
	if (!r)
		r = softirq_bpf__load(skel);
	if (!r)
		source__bind(s, skel);
	return r;
}

/* What ends before what begins. */
static int softirq_attach(struct source *s)
{
	struct softirq_bpf *skel = s->skel;
	const struct source_link order[] = {
		{ skel->progs.si_exit, &skel->links.si_exit },
		{ skel->progs.si_entry, &skel->links.si_entry },
	};

	return source__attach(order, ARRAY_SIZE(order));
}

static void softirq_free(struct source *s)
{
	softirq_bpf__destroy(s->skel);
}

const struct source_ops source_softirq = {
	.source = FRBPF_SOURCE_SOFTIRQ,
	.name = "softirq",
	.elf = softirq_bpf__elf_bytes,
	.load = softirq_load,
	.attach = softirq_attach,
	.free = softirq_free,
};
