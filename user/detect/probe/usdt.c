// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stddef.h>

#include "detect/probe/user_probe.h"
#include "usdt.skel.h"

static uint32_t count_probes(const struct probe_target *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n_places; i++)
		n += t->places[i].found.n_probes;
	return n;
}

/* Write the locations of arguments, in the order in which usdt_attach() numbers the places. */
static int write_usdt_places(const struct usdt_bpf *skel, const struct probe_target *t)
{
	int fd = bpf_map__fd(skel->maps.places);
	uint32_t index = 0;

	for (uint32_t i = 0; i < t->n_places; i++) {
		for (uint32_t k = 0; k < t->places[i].found.n_probes; k++, index++) {
			if (bpf_map_update_elem(fd, &index, &t->places[i].found.probes[k].args,
						BPF_ANY))
				return -errno;
		}
	}
	return 0;
}

static int usdt_load(struct source *s, const struct source_env *env)
{
	struct usdt_bpf *skel;
	struct user_probe *p;
	int err = user_probe__resolve(s);

	if (err)
		return err;
	skel = usdt_bpf__open();
	if (!skel)
		return -errno;
	p = s->skel;
	p->skel = skel;
	skel->rodata->daemon_pidns = env->pidns;
	skel->rodata->n_places = count_probes(p->target);
	bpf_map__set_autocreate(skel->maps.match_room, false);
	err = bpf_map__set_max_entries(skel->maps.places, count_probes(p->target));
	err = err ?: source__prepare(s, skel->obj, env);
	err = err ?: usdt_bpf__load(skel);
	err = err ?: write_usdt_places(skel, p->target);
	if (!err)
		source__bind(s, skel);
	return err;
}

/* Attach without libbpf, which maps the file, and crashes if its owner truncates it meanwhile. */
static int attach_probe(struct user_probe *p, int file, const struct probe_usdt *probe,
			uint32_t index)
{
	struct usdt_bpf *skel = p->skel;

	return user_probe__keep(p, user_probe__attach(skel->progs.ud_hit, file, probe->offset,
						      probe->semaphore, index));
}

static int usdt_attach(struct source *s)
{
	struct user_probe *p = s->skel;
	uint32_t index = 0;
	int err = 0;

	for (uint32_t i = 0; i < p->target->n_places && !err; i++) {
		const struct probe_place *place = &p->target->places[i];

		for (uint32_t k = 0; k < place->found.n_probes && !err; k++)
			err = attach_probe(p, place->fd, &place->found.probes[k], index++);
	}
	user_probe__close_files(p);
	return err;
}

static void usdt_free(struct source *s)
{
	struct user_probe *p = s->skel;
	struct usdt_bpf *skel = p ? p->skel : NULL;

	user_probe__free(p);
	usdt_bpf__destroy(skel);
}

const struct source_ops source_usdt = {
	.source = FRBPF_SOURCE_USDT,
	.name = "usdt",
	.elf = usdt_bpf__elf_bytes,
	.check = user_probe__check,
	.is_stale = user_probe__is_stale,
	.load = usdt_load,
	.attach = usdt_attach,
	.free = usdt_free,
};
