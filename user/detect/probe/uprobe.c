// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/libbpf.h>
#include <errno.h>
#include <stddef.h>

#include "detect/engine/look.h"
#include "detect/probe/user_probe.h"
#include "uprobe.skel.h"

/* Load only the programs that this target needs. */
static void choose_programs(struct uprobe_bpf *skel, const struct probe_target *t)
{
	bpf_program__set_autoload(skel->progs.up_hit, !t->latency);
	bpf_program__set_autoload(skel->progs.up_enter, t->latency);
	bpf_program__set_autoload(skel->progs.up_exit, t->latency);
	bpf_program__set_autoload(skel->progs.up_look, t->latency);
	bpf_program__set_autoload(skel->progs.due_look, t->latency);
	bpf_program__set_autoload(skel->progs.due_rest, false); /* calls end with their task */
	bpf_map__set_autocreate(skel->maps.calls, t->latency);
	bpf_map__set_autocreate(skel->maps.due_events, t->latency);
	bpf_map__set_autocreate(skel->maps.due_tasks, t->latency);
	bpf_map__set_autocreate(skel->maps.match_room, false);
}

static int uprobe_load(struct source *s, const struct source_env *env)
{
	struct uprobe_bpf *skel;
	struct user_probe *p;
	int err = user_probe__resolve(s);

	if (err)
		return err;
	skel = uprobe_bpf__open();
	if (!skel)
		return -errno;
	p = s->skel;
	p->skel = skel;
	skel->rodata->daemon_pidns = env->pidns;
	choose_programs(skel, p->target);
	err = bpf_map__set_max_entries(skel->maps.calls, user_probe__lru_entries());
	err = err ?: source__prepare(s, skel->obj, env);
	err = err ?: uprobe_bpf__load(skel);
	if (!err)
		source__bind(s, skel);
	return err;
}

static int attach_uprobe(struct user_probe *p, const struct bpf_program *prog, int file,
			 uint64_t offset)
{
	return user_probe__keep(p, user_probe__attach(prog, file, offset, 0, 0));
}

/* Ends first: see source__attach(). */
static int attach_func(struct user_probe *p, const struct probe_func *f, int file)
{
	struct uprobe_bpf *skel = p->skel;
	int err = 0;

	if (!p->target->latency)
		return attach_uprobe(p, skel->progs.up_hit, file, f->offset);
	for (uint32_t i = 0; i < f->n_exits && !err; i++)
		err = attach_uprobe(p, skel->progs.up_exit, file, f->exits[i]);
	return err ?: attach_uprobe(p, skel->progs.up_enter, file, f->offset);
}

static int uprobe_attach(struct source *s)
{
	struct user_probe *p = s->skel;
	int err = 0;

	for (uint32_t i = 0; i < p->target->n_places && !err; i++) {
		const struct probe_place *place = &p->target->places[i];

		for (uint32_t k = 0; k < place->found.n_funcs && !err; k++)
			err = attach_func(p, &place->found.funcs[k], place->fd);
	}
	user_probe__close_files(p);
	return err;
}

static int uprobe_look(struct source *s)
{
	struct user_probe *p = s->skel;
	struct uprobe_bpf *skel = p->skel;
	const struct due_look due = { skel->progs.up_look, skel->progs.due_look,
				      skel->progs.due_rest, skel->maps.due_tasks,
				      &skel->bss->n_due };

	return due_look__make(&due);
}

static void uprobe_free(struct source *s)
{
	struct user_probe *p = s->skel;
	struct uprobe_bpf *skel = p ? p->skel : NULL;

	user_probe__free(p);
	uprobe_bpf__destroy(skel);
}

const struct source_ops source_uprobe = {
	.source = FRBPF_SOURCE_UPROBE,
	.name = "uprobe",
	.elf = uprobe_bpf__elf_bytes,
	.check = user_probe__check,
	.is_stale = user_probe__is_stale,
	.load = uprobe_load,
	.attach = uprobe_attach,
	.look = uprobe_look,
	.free = uprobe_free,
};
