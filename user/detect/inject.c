// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "detect/inject.h"
#include "inject.skel.h"

struct inject {
	struct inject_bpf *skel;
	enum frbpf_source source;
	pthread_mutex_t lock; /* of the event in the object's memory, until it has been looked at */
};

const void *inject__elf(size_t *ret_size)
{
	return inject_bpf__elf_bytes(ret_size);
}

int inject__load(struct source *s, const struct source_env *env, struct inject **ret)
{
	struct inject *i = calloc(1, sizeof(*i));
	int r;

	if (!i)
		return -ENOMEM;
	*ret = i;
	pthread_mutex_init(&i->lock, NULL);
	i->source = s->ops->source;
	i->skel = inject_bpf__open();
	if (!i->skel)
		return -errno;
	i->skel->rodata->daemon_pidns = env->pidns;
	r = source__prepare(s, i->skel->obj, env);
	if (!r)
		r = inject_bpf__load(i->skel);
	if (!r)
		source__bind(s, i->skel);
	return r;
}

uint32_t inject__half(const struct inject *i)
{
	return __atomic_load_n(&i->skel->bss->control.generation, __ATOMIC_ACQUIRE) & 1;
}

bool inject__wants(const struct inject *i, enum frbpf_field field)
{
	return i->skel->bss->control.half[inject__half(i)].fields & (1U << field);
}

int inject__event(struct inject *i, const struct frbpf_event *e)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int r;

	pthread_mutex_lock(&i->lock);
	i->skel->bss->event = *e;
	if (!e->source)
		i->skel->bss->event.source = i->source;
	r = bpf_prog_test_run_opts(bpf_program__fd(i->skel->progs.inject), &opts);
	pthread_mutex_unlock(&i->lock);
	return r < 0 ? r : -(int)opts.retval;
}

void inject__free(struct inject *i)
{
	if (!i)
		return;
	inject_bpf__destroy(i->skel);
	pthread_mutex_destroy(&i->lock);
	free(i);
}
