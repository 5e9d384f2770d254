// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/proc_file.h"
#include "detect/engine/cgroups.h"
#include "detect/inject/proc_subject.h"

#define PRIO_OF_PROC 100 /* MAX_RT_PRIO: what task_prio() takes off */
#define FILE_MAX     (PATH_MAX + 256)

/* What /proc tells about one thread. */
struct proc_task {
	char comm[FRBPF_COMM_LEN];
	pid_t pid;
	pid_t ppid;
	uid_t uid;
	struct proc_stat stat;
};

static int read_status(int dir, struct proc_task *ret)
{
	char buf[FILE_MAX];
	const char *pid, *ppid, *uid;

	if (proc_file__read(dir, "status", buf, sizeof(buf)) <= 0)
		return -ESRCH;
	pid = proc_file__status_field(buf, "Tgid");
	ppid = proc_file__status_field(buf, "PPid");
	uid = proc_file__status_field(buf, "Uid");
	uid = uid ? strchr(uid, '\t') : NULL; /* the second is the effective one */
	ret->pid = pid ? atoi(pid) : 0;
	ret->ppid = ppid ? atoi(ppid) : 0;
	ret->uid = uid ? strtoul(uid, NULL, 10) : 0;
	return ret->pid ? 0 : -ESRCH;
}

static int read_task(int dir, struct proc_task *ret)
{
	*ret = (struct proc_task){ .comm = "" };
	return proc_file__comm(dir, ret->comm) ?: read_status(dir, ret) ?: proc_file__stat(dir, &ret->stat);
}

/* Add ids from the root down; 0 for a cgroup that has been removed meanwhile. */
static void add_cgroups(struct frbpf_event *e, enum event_task who, char *path)
{
	char mount[PATH_MAX], *end = path;
	uint32_t level = 0;
	uint64_t id = 0;

	if (cgroup__mount_point(mount, sizeof(mount)))
		return;
	if (!cgroup__id(mount, "/", &id))
		e->cgroup[who][level++] = id;
	while (end && end[1]) {
		end = strchr(end + 1, '/');
		if (end)
			*end = '\0';
		id = 0;
		if (!cgroup__id(mount, path, &id) && level < FRBPF_CGROUP_DEPTH)
			e->cgroup[who][level++] = id;
		if (end)
			*end = '/';
	}
	if (who == EVENT_SUBJECT)
		e->own_cgroup = id;
}

static void read_cgroups(int dir, struct frbpf_event *e, enum event_task who)
{
	char buf[FILE_MAX], *line;

	memset(e->cgroup[who], 0, sizeof(e->cgroup[who]));
	if (proc_file__read(dir, "cgroup", buf, sizeof(buf)) <= 0)
		return;
	for (line = buf; line && strncmp(line, "0::/", 4) != 0;) {
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	if (!line)
		return;
	line += strlen("0::");
	line[strcspn(line, "\n")] = '\0';
	add_cgroups(e, who, line);
}

/* Read the leader of the process: name and start time. */
static void read_leader(const struct proc_task *t, pid_t tid, struct proc_task *ret)
{
	_cleanup_close_ int dir = -1;

	*ret = *t;
	if (t->pid == tid)
		return;
	dir = proc_file__open_task(t->pid);
	if (dir >= 0 && !proc_file__comm(dir, ret->comm))
		proc_file__stat(dir, &ret->stat);
}

static void put_task(struct frbpf_event *e, enum event_task who, pid_t tid,
		     const struct proc_task *t, const struct proc_task *leader)
{
	__u64(*val)[2] = e->val[who];

	memcpy(val[FRBPF_FIELD_COMM], t->comm, sizeof(t->comm));
	memcpy(val[FRBPF_FIELD_PROCESS], leader->comm, sizeof(leader->comm));
	val[FRBPF_FIELD_PID][0] = t->pid;
	val[FRBPF_FIELD_TID][0] = tid;
	val[FRBPF_FIELD_PPID][0] = t->ppid;
	val[FRBPF_FIELD_UID][0] = t->uid;
	val[FRBPF_FIELD_PRIO][0] = (__s64)t->stat.prio + PRIO_OF_PROC;
	if (who != EVENT_SUBJECT)
		return;
	e->process[0] = t->pid;
	e->process[1] = leader->stat.born;
	e->thread[0] = tid;
	e->thread[1] = t->stat.born;
	e->self = t->pid == getpid();
}

int proc_subject__fill(struct frbpf_event *e, enum event_task who, pid_t tid, bool cgroups)
{
	_cleanup_close_ int dir = proc_file__open_task(tid);
	struct proc_task task, leader;

	if (dir < 0 || read_task(dir, &task)) {
		e->val[who][FRBPF_FIELD_TID][0] = tid;
		if (!e->val[who][FRBPF_FIELD_PID][0])
			e->val[who][FRBPF_FIELD_PID][0] = tid;
		if (who == EVENT_SUBJECT) {
			e->process[0] = e->val[who][FRBPF_FIELD_PID][0];
			e->thread[0] = tid;
		}
		return -ESRCH;
	}
	read_leader(&task, tid, &leader);
	put_task(e, who, tid, &task, &leader);
	if (cgroups)
		read_cgroups(dir, e, who);
	return 0;
}

int proc_subject__cpu(pid_t tid)
{
	_cleanup_close_ int dir = proc_file__open_task(tid);
	struct proc_stat stat;

	return dir < 0 || proc_file__stat(dir, &stat) ? -ESRCH : stat.cpu;
}

void proc_subject__set_current(struct frbpf_event *e)
{
	memcpy(e->val[EVENT_CURRENT], e->val[EVENT_SUBJECT],
	       FRBPF_FIELD_VALUE * sizeof(e->val[0][0]));
	memcpy(e->cgroup[EVENT_CURRENT], e->cgroup[EVENT_SUBJECT], sizeof(e->cgroup[0]));
}
