// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>

#include "admin/request.h"

static bool is_probe(const struct perf_event_attr *attr, const struct admin_pmus *pmus)
{
	return (pmus->kprobe >= 0 && attr->type == (uint32_t)pmus->kprobe) ||
	       (pmus->uprobe >= 0 && attr->type == (uint32_t)pmus->uprobe);
}

/* Probes have requests of their own: their attributes hold pointers. Pid 0 would be the server. */
static int check_event(const struct admin_request *r, size_t n_fds, const struct admin_pmus *pmus)
{
	if (r->event.of_cgroup > 1 || n_fds != 1 + r->event.of_cgroup ||
	    r->event.attr.size > sizeof(r->event.attr))
		return -EBADMSG;
	if (is_probe(&r->event.attr, pmus) || (!r->event.of_cgroup && !r->event.pid))
		return -EACCES;
	return 0;
}

int admin_request__check(const void *msg, size_t len, size_t n_fds, const struct admin_pmus *pmus)
{
	const struct admin_request *r = msg;

	if (len != sizeof(*r) || r->kind >= ADMIN_KINDS)
		return -EBADMSG;
	if (r->kind == ADMIN_EVENT)
		return check_event(r, n_fds, pmus);
	if (n_fds != (r->kind == ADMIN_UPROBE ? 2 : 1))
		return -EBADMSG;
	return 0;
}
