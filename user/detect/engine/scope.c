// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "detect/engine/load_error.h"
#include "detect/engine/scope.h"
#include "detect/engine/source.h"
#include "scope.skel.h"

struct scope {
	struct scope_bpf *skel;
};

/* The program that deletes entries is attached before the one that adds them. */
static int attach_scope(struct scope_bpf *skel)
{
	const struct source_link order[] = {
		{ skel->progs.scope_free, &skel->links.scope_free },
		{ skel->progs.scope_exec, &skel->links.scope_exec },
		{ skel->progs.scope_newtask, &skel->links.scope_newtask },
	};

	return source__attach(order, ARRAY_SIZE(order));
}

static int load_and_attach(struct scope *s)
{
	int err;

	s->skel = scope_bpf__open();
	if (!s->skel)
		return -errno;
	err = scope_bpf__load(s->skel);
	return err ?: attach_scope(s->skel);
}

int scope__open(struct err *err, struct scope **ret)
{
	struct scope *s = calloc(1, sizeof(*s));
	struct load_log log;
	int code;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	load_log__begin(&log);
	code = load_and_attach(s);
	load_log__end();
	if (code) {
		scope__free(s);
		load_error__explain(err, code, &log);
		return err_prefix(err, code, "scope: ");
	}
	*ret = s;
	return 0;
}

int scope__map_fd(const struct scope *s)
{
	return bpf_map__fd(s->skel->maps.scope);
}

int scope__keys_fd(const struct scope *s)
{
	return bpf_map__fd(s->skel->maps.scope_keys);
}

/*
 * User space can only add the leader, by its pidfd; then the iterator adds the other threads. A
 * thread created meanwhile is added by the fork program if its parent is in the scope, else by the
 * iterator.
 */
int scope__add(struct scope *s, pid_t pid, struct err *err)
{
	_cleanup_close_ int pidfd = syscall(SYS_pidfd_open, pid, 0);
	uint32_t in = 1;
	int code;

	if (pidfd < 0)
		return err_set(err, -errno, "process %d: %s", pid, strerror(errno));
	code = bpf_map_update_elem(scope__map_fd(s), &pidfd, &in, BPF_ANY) ? -errno : 0;
	code = code ?: source__iterate(s->skel->progs.scope_threads);
	return code ? err_set(err, code, "process %d cannot be followed: %s", pid, strerror(-code))
		    : 0;
}

uint64_t scope__missing(const struct scope *s)
{
	return __atomic_load_n(&s->skel->bss->missing, __ATOMIC_RELAXED);
}

void scope__free(struct scope *s)
{
	if (!s)
		return;
	scope_bpf__destroy(s->skel);
	free(s);
}
