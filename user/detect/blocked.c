// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/libbpf.h>
#include <errno.h>

#include "common/cleanup.h"
#include "detect/source.h"
#include "blocked.skel.h"

static int blocked_load(struct source *s, const struct source_env *env)
{
	struct blocked_bpf *skel = blocked_bpf__open();
	int r;

	if (!skel)
		return -errno;
	s->skel = skel;
	skel->rodata->daemon_pidns = env->pidns;
	r = source__prepare(s, skel->obj, env);
	if (!r)
		r = blocked_bpf__load(skel);
	if (!r)
		source__bind(s, skel);
	return r;
}

/* A sleep begins only once it can be seen to end: the wake-up comes before the switch. */
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

static void blocked_free(struct source *s)
{
	blocked_bpf__destroy(s->skel);
}

const struct source_ops source_blocked = {
	.source = FRBPF_SOURCE_BLOCKED,
	.name = "blocked",
	.load = blocked_load,
	.attach = blocked_attach,
	.free = blocked_free,
	.elf = blocked_bpf__elf_bytes,
};
