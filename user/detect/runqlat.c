// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/libbpf.h>
#include <errno.h>

#include "common/cleanup.h"
#include "detect/source.h"
#include "runqlat.skel.h"

static int runqlat_load(struct source *s, const struct source_env *env)
{
	struct runqlat_bpf *skel = runqlat_bpf__open();
	int r;

	if (!skel)
		return -errno;
	s->skel = skel;
	skel->rodata->daemon_pidns = env->pidns;
	r = source__prepare(s, skel->obj, env);
	if (!r)
		r = runqlat_bpf__load(skel);
	if (!r)
		source__bind(s, skel);
	return r;
}

/* A wait begins only once it can be seen to end: the switch comes before the wake-ups. */
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

static void runqlat_free(struct source *s)
{
	runqlat_bpf__destroy(s->skel);
}

const struct source_ops source_runqlat = {
	.source = FRBPF_SOURCE_RUNQLAT,
	.name = "runqlat",
	.elf = runqlat_bpf__elf_bytes,
	.load = runqlat_load,
	.attach = runqlat_attach,
	.free = runqlat_free,
};
