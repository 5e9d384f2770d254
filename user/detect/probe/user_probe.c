// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "admin/admin.h"
#include "common/cpus.h"
#include "detect/probe/user_probe.h"

#define LRU_HELD 128 /* entries: LOCAL_FREE_TARGET */

#define UPROBE_PMU "/sys/bus/event_source/devices/uprobe/type"

int user_probe__check(enum frbpf_source source, const char *target, struct err *err)
{
	struct probe_target *t;
	int code = probe_target__find(source, target, &t, err);

	if (!code)
		probe_target__free(t);
	return code;
}

int user_probe__find(enum frbpf_source source, const char *target, struct user_probe **ret,
		     struct err *err)
{
	struct user_probe *p;
	int code;

	if (access(UPROBE_PMU, F_OK))
		return err_set(err, -EOPNOTSUPP,
			       "this kernel has no uprobes: it needs CONFIG_UPROBE_EVENTS=y (and "
			       "/sys mounted)");
	p = calloc(1, sizeof(*p));
	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	code = probe_target__find(source, target, &p->target, err);
	if (code)
		free(p);
	else
		*ret = p;
	return code;
}

int user_probe__resolve(struct source *s)
{
	struct user_probe *p;
	int err = user_probe__find(s->ops->source, s->target, &p, s->err);

	if (!err)
		s->skel = p;
	return err;
}

bool user_probe__is_stale(const struct source *s)
{
	const struct user_probe *p = s->skel;

	return !probe_target__is_current(p->target, s->ops->source, s->target);
}

int user_probe__keep(struct user_probe *p, struct bpf_link *link)
{
	struct bpf_link **links;

	if (!link)
		return -errno;
	links = realloc(p->links, (p->n_links + 1) * sizeof(*links));
	if (!links) {
		bpf_link__destroy(link);
		return -ENOMEM;
	}
	p->links = links;
	p->links[p->n_links++] = link;
	return 0;
}

uint32_t user_probe__lru_entries(void)
{
	return FRBPF_MAX_IN_FLIGHT + LRU_HELD * cpus__n_possible();
}

struct bpf_link *user_probe__attach(const struct bpf_program *prog, int file, uint64_t offset,
				    uint64_t ref_ctr, uint64_t cookie)
{
	LIBBPF_OPTS(bpf_perf_event_opts, opts, .bpf_cookie = cookie);
	int fd = admin__open_uprobe(file, offset, ref_ctr), err;
	struct bpf_link *link;

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	link = bpf_program__attach_perf_event_opts(prog, fd, &opts);
	if (!link) { /* otherwise the link owns the descriptor */
		err = errno;
		close(fd);
		errno = err;
	}
	return link;
}

void user_probe__close_files(struct user_probe *p)
{
	for (uint32_t i = 0; i < p->target->n_places; i++) {
		close(p->target->places[i].fd);
		p->target->places[i].fd = -1;
	}
}

void user_probe__free(struct user_probe *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n_links; i++)
		bpf_link__destroy(p->links[i]);
	free(p->links);
	probe_target__free(p->target);
	free(p);
}
