// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/libbpf.h>
#include <errno.h>

#include "common/cleanup.h"
#include "detect/engine/source.h"
#include "connect.skel.h"

static int connect_load(struct source *s, const struct source_env *env)
{
	struct connect_bpf *skel = connect_bpf__open();
	int err;

	if (!skel)
		return -errno;
	s->skel = skel;
	skel->rodata->daemon_pidns = env->pidns;
	err = source__prepare(s, skel->obj, env);
	err = err ?: connect_bpf__load(skel);
	if (!err) {
		source__bind(s, skel);
		s->unmeasured = &skel->bss->dropped;
	}
	return err;
}

static int connect_attach(struct source *s)
{
	struct connect_bpf *skel = s->skel;
	const struct source_link order[] = {
		{ skel->progs.cn_end, &skel->links.cn_end },
		{ skel->progs.cn_begin, &skel->links.cn_begin },
	};

	return source__attach(order, ARRAY_SIZE(order));
}

static void connect_free(struct source *s)
{
	connect_bpf__destroy(s->skel);
}

const struct source_ops source_connect = {
	.source = FRBPF_SOURCE_CONNECT,
	.name = "connect",
	.elf = connect_bpf__elf_bytes,
	.load = connect_load,
	.attach = connect_attach,
	.free = connect_free,
};
