// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "admin/admin_request.h"
#include "common/buf.h"

static bool is_probe(const struct perf_event_attr *attr, const struct admin_pmus *pmus)
{
	return (pmus->kprobe >= 0 && attr->type == (uint32_t)pmus->kprobe) ||
	       (pmus->uprobe >= 0 && attr->type == (uint32_t)pmus->uprobe);
}

/*
 * Refuse probes, which have requests of their own: their attributes hold pointers. Refuse pid 0,
 * which would be the server.
 */
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

#define REF_CTR_SHIFT 32 /* of the semaphore in attr.config, since Linux 4.20 */

static int pmu_type(const char *path)
{
	struct buf text = { 0 };
	int type = -1;

	if (!buf__read_file(&text, path, 64) && text.len)
		type = atoi(text.data);
	buf__free(&text);
	return type;
}

struct admin_pmus admin_pmus__find(void)
{
	return (struct admin_pmus){
		.kprobe = pmu_type("/sys/bus/event_source/devices/kprobe/type"),
		.uprobe = pmu_type("/sys/bus/event_source/devices/uprobe/type"),
	};
}

static int open_requested_event(struct perf_event_attr *attr, pid_t pid, int cpu,
				unsigned long flags)
{
	int fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC | flags);

	return fd < 0 ? -errno : fd;
}

/* The descriptor must allow reading: O_PATH gives a handle on files that one may not read. */
static int check_request_file(int file)
{
	int flags = fcntl(file, F_GETFL);
	struct stat st;

	if (flags < 0 || fstat(file, &st))
		return -errno;
	return flags & O_PATH || (flags & O_ACCMODE) == O_WRONLY || !S_ISREG(st.st_mode) ? -EACCES
											 : 0;
}

static int open_uprobe(const struct admin_request *r, int file, const struct admin_pmus *pmus)
{
	struct perf_event_attr attr = {
		.type = pmus->uprobe,
		.size = PERF_ATTR_SIZE_VER7,
		.config = r->uprobe.ref_ctr << REF_CTR_SHIFT,
		.config2 = r->uprobe.offset,
	};
	char path[32];
	int err = check_request_file(file);

	if (err)
		return err;
	if (pmus->uprobe < 0)
		return -EOPNOTSUPP;
	if (r->uprobe.ref_ctr >> REF_CTR_SHIFT)
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	attr.config1 = (uintptr_t)path;
	return open_requested_event(&attr, -1, 0, 0);
}

static int fd_or_errno(int fd)
{
	return fd < 0 ? -errno : fd;
}

int admin_request__open(struct admin_request *r, int file, const struct admin_pmus *pmus,
			uint32_t *ret_id)
{
	switch (r->kind) {
	case ADMIN_EVENT:
		return open_requested_event(&r->event.attr,
					    r->event.of_cgroup ? file : r->event.pid, r->event.cpu,
					    r->event.of_cgroup ? PERF_FLAG_PID_CGROUP : 0);
	case ADMIN_UPROBE:
		return open_uprobe(r, file, pmus);
	case ADMIN_BPF_PROG:
		return fd_or_errno(bpf_prog_get_fd_by_id(r->id));
	case ADMIN_BPF_BTF:
		return fd_or_errno(bpf_btf_get_fd_by_id(r->id));
	case ADMIN_NEXT_PROG:
		return bpf_prog_get_next_id(r->id, ret_id) ? -errno : 0;
	}
	return -EBADMSG;
}
