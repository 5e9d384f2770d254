// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "detect/engine/cgroups.h"
#include "run/run_target.h"

static int open_cgroup2(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;

	if (fd < 0)
		return -errno;
	if (fstatfs(fd, &fs) < 0)
		return -errno;
	return fs.f_type == CGROUP2_SUPER_MAGIC ? TAKE_FD(fd) : -EMEDIUMTYPE;
}

/* Depth below the root of the hierarchy */
static size_t cgroup_levels(const char *path)
{
	char mount[PATH_MAX] = "";
	size_t n = 0;

	if (!cgroup__mount_point(mount, sizeof(mount)) && !strncmp(path, mount, strlen(mount)))
		path += strlen(mount);
	for (; *path; path++)
		n += path[0] == '/' && path[1] && path[1] != '/';
	return n;
}

/* Open a directory, or a path in the hierarchy as in /proc/PID/cgroup. */
static int find_cgroup(struct run_target *t, const char *path, struct err *err)
{
	char mount[PATH_MAX] = "";
	int fd = -ENOENT, code;

	if (snprintf(t->cgroup, sizeof(t->cgroup), "%s", path) < (int)sizeof(t->cgroup))
		fd = open_cgroup2(t->cgroup);
	if (fd < 0 && path[0] == '/' && !cgroup__mount_point(mount, sizeof(mount)) &&
	    snprintf(t->cgroup, sizeof(t->cgroup), "%s%s", mount, path) < (int)sizeof(t->cgroup)) {
		code = open_cgroup2(t->cgroup);
		fd = code >= 0 || fd != -EMEDIUMTYPE ? code : fd;
	}
	if (fd == -EMEDIUMTYPE)
		return err_set(err, -EINVAL, "--cgroup %s: not a cgroup of version 2 (cgroup2)",
			       path);
	if (fd < 0)
		return err_set(err, fd, "--cgroup %s: %s", path, strerror(-fd));
	if (cgroup_levels(t->cgroup) >= FRBPF_CGROUP_DEPTH) {
		close(fd);
		return err_set(err, -EINVAL,
			       "--cgroup %s: is %zu levels deep: only the first %d are compared",
			       path, cgroup_levels(t->cgroup), FRBPF_CGROUP_DEPTH - 1);
	}
	t->record = (struct record_target){ .kind = RECORD_CGROUP, .cgroup_fd = fd };
	code = cgroup__id("", t->cgroup, &t->cgroup_id);
	return code ? err_set(err, code, "--cgroup %s: has no id: %s", path, strerror(-code)) : 0;
}

static int find_process(struct run_target *t, struct err *err)
{
	t->pidfd = syscall(SYS_pidfd_open, t->pid, 0);
	if (t->pidfd < 0 && errno == EINVAL)
		return err_set(err, -EINVAL, "-p %d: a thread, not a process", t->pid);
	if (t->pidfd < 0)
		return err_set(err, -errno, "-p %d: %s", t->pid, strerror(errno));
	t->record = (struct record_target){
		.kind = RECORD_TASKS,
		.processes = &t->pid,
		.n_processes = 1,
		.cgroup_fd = -1,
	};
	return 0;
}

int run_target__find(const struct run_opts *opts, struct err *err, struct run_target *ret)
{
	*ret = (struct run_target){ .scope = opts->scope, .pid = opts->pid, .pidfd = -1 };
	ret->record.cgroup_fd = -1;
	if (opts->scope == RUN_CGROUP)
		return find_cgroup(ret, opts->cgroup, err);
	return opts->scope == RUN_PID ? find_process(ret, err) : 0;
}

static int add_thread(struct record_target *r, pid_t tid)
{
	pid_t *tids = reallocarray(r->tids, r->n_tids + 1, sizeof(*tids));

	if (!tids)
		return -ENOMEM;
	r->tids = tids;
	r->tids[r->n_tids++] = tid;
	return 0;
}

int run_target__set_command(struct run_target *t, pid_t pid, struct err *err)
{
	t->pid = pid;
	t->record.kind = RECORD_TASKS;
	return add_thread(&t->record, pid) ? err_set(err, -ENOMEM, "out of memory") : 0;
}

int run_target__confine(const struct run_target *t, struct detectors *d, struct err *err)
{
	int code;

	if (t->scope == RUN_CGROUP)
		detectors__confine_to_cgroup(d, t->cgroup_id);
	if (t->scope != RUN_TREE && t->scope != RUN_PID)
		return 0;
	code = detectors__confine_to_tasks(d, err);
	return code ?: detectors__include(d, t->pid, err);
}

void run_target__free(struct run_target *t)
{
	free(t->record.tids);
	if (t->pidfd >= 0)
		close(t->pidfd);
	if (t->record.cgroup_fd >= 0)
		close(t->record.cgroup_fd);
}
