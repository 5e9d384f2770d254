// SPDX-License-Identifier: GPL-2.0-only
/* The sources that measure waits of tasks with bpf/waits.bpf.h: runqlat, offcpu, blocked. */
#include <bpf/libbpf.h>

#include "common/cleanup.h"
#include "detect/engine/source_skel.h"
#include "blocked.skel.h"
#include "offcpu.skel.h"
#include "runqlat.skel.h"

/* Defines NAME_load(), NAME_look() and NAME_free() of struct source_ops. */
#define SOURCE_SKELETON_WAITS(name)                                                                \
	SOURCE_SKELETON(name)                                                                      \
	static int name##_look(struct source *s)                                                   \
	{                                                                                          \
		struct name##_bpf *skel = s->skel;                                                 \
                                                                                                   \
		return source__iterate(skel->progs.waits_look);                                    \
	}

/* ---- runqlat ---- */

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

/* ---- offcpu ---- */

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

/* ---- blocked ---- */

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
