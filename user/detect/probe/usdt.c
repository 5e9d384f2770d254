// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/libbpf.h>
#include <errno.h>
#include <stddef.h>

#include "detect/probe/user_probe.h"
#include "usdt.skel.h"

static int usdt_load(struct source *s, const struct source_env *env)
{
	struct usdt_bpf *skel;
	struct user_probe *p;
	int r = user_probe__resolve(s);

	if (r)
		return r;
	skel = usdt_bpf__open();
	if (!skel)
		return -errno;
	p = s->skel;
	p->skel = skel;
	skel->rodata->daemon_pidns = env->pidns;
	bpf_map__set_autocreate(skel->maps.scratch, false);
	r = source__prepare(s, skel->obj, env);
	if (!r)
		r = usdt_bpf__load(skel);
	if (!r)
		source__bind(s, skel);
	return r;
}

static int usdt_attach(struct source *s)
{
	struct user_probe *p = s->skel;
	struct usdt_bpf *skel = p->skel;
	char path[64];
	int r = 0;

	for (uint32_t i = 0; i < p->target->n_places && !r; i++) {
		user_probe__path(&p->target->places[i], path, sizeof(path));
		r = user_probe__keep(p, bpf_program__attach_usdt(skel->progs.ud_hit, -1, path,
								 p->target->provider,
								 p->target->symbol, NULL));
	}
	user_probe__close_files(p);
	if (r == -ENOENT || r == -EINVAL) /* the probe itself was found before */
		err_set(s->err, r,
			"libbpf cannot tell from the program's notes where an argument of %s:%s "
			"is; "
			"`frbpf events -v 'usdt:PATH:*'` shows them",
			p->target->provider, p->target->symbol);
	return r;
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
