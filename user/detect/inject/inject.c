// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "detect/inject/inject.h"
#include "inject.skel.h"

struct inject {
	struct inject_bpf *skel; /* owned */
	enum frbpf_source source;
	int scope_fd;	      /* map of the tasks in the scope; borrowed */
	pthread_mutex_t lock; /* for the event in the memory of the object, until it is evaluated */
};

const void *inject__elf(size_t *ret_size)
{
	return inject_bpf__elf_bytes(ret_size);
}

int inject__load(struct source *s, const struct source_env *env, struct inject **ret)
{
	struct inject *i = calloc(1, sizeof(*i));
	int err;

	if (!i)
		return -ENOMEM;
	*ret = i;
	pthread_mutex_init(&i->lock, NULL);
	i->source = s->ops->source;
	i->scope_fd = env->scope_fd;
	i->skel = inject_bpf__open();
	if (!i->skel)
		return -errno;
	i->skel->rodata->daemon_pidns = env->pidns;
	err = source__prepare(s, i->skel->obj, env);
	err = err ?: inject_bpf__load(i->skel);
	if (err)
		return err;
	source__bind(s, i->skel);
	return 0;
}

uint32_t inject__bank(const struct inject *i)
{
	return __atomic_load_n(&i->skel->bss->control.generation, __ATOMIC_ACQUIRE) & 1;
}

bool inject__wants(const struct inject *i, enum frbpf_field field)
{
	const struct frbpf_control *c = &i->skel->bss->control;

	if (field == FRBPF_FIELD_CGROUP && c->scope == FRBPF_SCOPE_CGROUP)
		return true;
	return c->bank[inject__bank(i)].fields & (1U << field);
}

/* @error: of pidfd_open(). EINVAL: it was reaped, and its pid is not free yet. */
static bool sender_ended(int error)
{
	return error == ESRCH || error == EINVAL;
}

/*
 * Task storage is looked up by a pidfd (bpf_pid_task_storage_lookup_elem(), since 5.11). A task
 * that has ended, perhaps right after it sent something, counts as in scope.
 */
static bool has_entry(int scope_fd, pid_t pid)
{
	_cleanup_close_ int pidfd = syscall(SYS_pidfd_open, pid, 0), again = -1;
	uint64_t value;

	if (pidfd < 0)
		return pid && sender_ended(errno);
	if (!bpf_map_lookup_elem(scope_fd, &pidfd, &value))
		return true;
	again = syscall(SYS_pidfd_open, pid, 0); /* it may have ended meanwhile */
	return again < 0 && sender_ended(errno);
}

bool inject__is_outside(const struct inject *i, pid_t pid, const struct frbpf_event *e)
{
	const struct frbpf_control *c = &i->skel->bss->control;

	if (c->scope == FRBPF_SCOPE_TASKS)
		return !has_entry(i->scope_fd, pid);
	if (c->scope != FRBPF_SCOPE_CGROUP)
		return false;
	for (int k = 0; k < FRBPF_CGROUP_DEPTH; k++) {
		if (e->cgroup[0][k] == c->scope_cgroup)
			return false;
	}
	return true;
}

int inject__event(struct inject *i, const struct frbpf_event *e)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int err;

	pthread_mutex_lock(&i->lock);
	i->skel->bss->event = *e;
	if (!e->source)
		i->skel->bss->event.source = i->source;
	err = bpf_prog_test_run_opts(bpf_program__fd(i->skel->progs.inject), &opts);
	pthread_mutex_unlock(&i->lock);
	return err < 0 ? err : -(int)opts.retval;
}

void inject__free(struct inject *i)
{
	if (!i)
		return;
	inject_bpf__destroy(i->skel);
	pthread_mutex_destroy(&i->lock);
	free(i);
}
