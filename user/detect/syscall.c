// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/libbpf.h>
#include <errno.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "detect/engine/source.h"
#include "syscall.skel.h"

static int syscall_load(struct source *s, const struct source_env *env)
{
	struct syscall_bpf *skel = syscall_bpf__open();
	uint64_t reading[FRBPF_KEY_WORDS] = { 0 };
	int err;

	if (!skel)
		return -errno;
	s->skel = skel;
	skel->rodata->daemon_pidns = env->pidns;
	syscall__keys(1U << SYSCALL_READS, reading);
	for (int i = 0; i < FRBPF_KEY_WORDS; i++)
		skel->rodata->reading[i] = reading[i];
	for (int nr = 0; nr < FRBPF_KEY_MAX; nr++)
		skel->rodata->file_args[nr] = syscall__file_arg(nr);
	for (int nr = 0; nr < FRBPF_KEY_MAX; nr++)
		skel->rodata->peers[nr] = syscall__peer(nr);
	err = source__prepare(s, skel->obj, env);
	err = err ?: syscall_bpf__load(skel);
	if (!err)
		source__bind(s, skel);
	return err;
}

static int syscall_attach(struct source *s)
{
	struct syscall_bpf *skel = s->skel;
	const struct source_link order[] = {
		{ skel->progs.sc_signal, &skel->links.sc_signal },
		{ skel->progs.sc_exit, &skel->links.sc_exit },
		{ skel->progs.sc_enter, &skel->links.sc_enter },
	};

	return source__attach(order, ARRAY_SIZE(order));
}

static void syscall_change_keys(struct source *s, const __u64 *from, const __u64 *to)
{
	struct syscall_bpf *skel = s->skel;
	uint64_t now = now_ns();

	for (int nr = 0; nr < FRBPF_KEY_MAX; nr++) {
		uint64_t bit = 1ULL << (nr % 64);

		if ((to[nr / 64] & bit) && !(from[nr / 64] & bit))
			skel->bss->watched_since[nr] = now;
	}
}

static int syscall_look(struct source *s)
{
	struct syscall_bpf *skel = s->skel;

	return source__iterate(skel->progs.sc_look);
}

static void syscall_free(struct source *s)
{
	syscall_bpf__destroy(s->skel);
}

const struct source_ops source_syscall = {
	.source = FRBPF_SOURCE_SYSCALL,
	.name = "syscall",
	.elf = syscall_bpf__elf_bytes,
	.load = syscall_load,
	.attach = syscall_attach,
	.change_keys = syscall_change_keys,
	.look = syscall_look,
	.free = syscall_free,
};
