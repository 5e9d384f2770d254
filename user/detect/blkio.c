// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "detect/engine/source.h"
#include "blkio.skel.h"

/* Find the value of an enumerator in any enum, since some enums have no name. -ENOENT: none. */
static int find_enumerator(const struct btf *btf, const char *name)
{
	for (uint32_t id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);

		for (int i = 0; btf_is_enum(t) && i < btf_vlen(t); i++) {
			if (!strcmp(btf__name_by_offset(btf, btf_enum(t)[i].name_off), name))
				return btf_enum(t)[i].val;
		}
	}
	return -ENOENT;
}

/* Adapt the programs to this kernel: see bpf/compat.bpf.h. */
static int fit_to_kernel(struct blkio_bpf *skel)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool io_start;
	int bit, op;

	if (!btf)
		return -errno;
	io_start = btf__find_by_name_kind(btf, "btf_trace_block_io_start", BTF_KIND_TYPEDEF) > 0;
	bit = find_enumerator(btf, "__RQF_FLUSH_SEQ");
	op = find_enumerator(btf, "REQ_OP_ZONE_APPEND");
	btf__free(btf);
	if (bit >= 0)
		skel->rodata->rqf_flush_seq = 1U << bit;
	if (op >= 0)
		skel->rodata->req_op_zone_append = op;
	bpf_program__set_autoload(skel->progs.io_start, io_start);
	bpf_program__set_autoload(skel->progs.io_insert, !io_start);
	bpf_program__set_autoload(skel->progs.io_issue, !io_start || skel->rodata->of_device);
	return 0;
}

static int blkio_load(struct source *s, const struct source_env *env)
{
	struct blkio_bpf *skel = blkio_bpf__open();
	int err;

	if (!skel)
		return -errno;
	s->skel = skel;
	skel->rodata->daemon_pidns = env->pidns;
	skel->rodata->n_keys = 1;
	skel->rodata->of_device = s->ops->source == FRBPF_SOURCE_BLKIO_DEVICE;
	err = fit_to_kernel(skel);
	if (!err && bpf_map__set_key_size(skel->maps.flights, sizeof(uint64_t)))
		err = -EINVAL;
	err = err ?: source__prepare(s, skel->obj, env);
	err = err ?: blkio_bpf__load(skel);
	if (!err)
		source__bind(s, skel);
	return err;
}

static int blkio_attach(struct source *s)
{
	struct blkio_bpf *skel = s->skel;
	const struct source_link order[] = {
		{ skel->progs.io_complete, &skel->links.io_complete },
		{ skel->progs.io_merge, &skel->links.io_merge },
		{ skel->progs.io_issue, &skel->links.io_issue },
		{ skel->progs.io_insert, &skel->links.io_insert },
		{ skel->progs.io_start, &skel->links.io_start },
	};

	return source__attach(order, ARRAY_SIZE(order));
}

/* Two passes: see bpf/blkio.bpf.c. */
static int blkio_look(struct source *s)
{
	struct blkio_bpf *skel = s->skel;
	int err;

	skel->bss->n_stacks = 0;
	err = source__iterate(skel->progs.io_look);
	return err || !skel->bss->n_stacks ? err : source__iterate(skel->progs.io_stacks);
}

static void blkio_free(struct source *s)
{
	blkio_bpf__destroy(s->skel);
}

const struct source_ops source_blkio = {
	.source = FRBPF_SOURCE_BLKIO,
	.name = "blkio",
	.elf = blkio_bpf__elf_bytes,
	.load = blkio_load,
	.attach = blkio_attach,
	.look = blkio_look,
	.free = blkio_free,
};

const struct source_ops source_blkio_device = {
	.source = FRBPF_SOURCE_BLKIO_DEVICE,
	.name = "blkio.device",
	.elf = blkio_bpf__elf_bytes,
	.load = blkio_load,
	.attach = blkio_attach,
	.look = blkio_look,
	.free = blkio_free,
};
