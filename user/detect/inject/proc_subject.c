// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "detect/engine/cgroups.h"
#include "detect/inject/proc_subject.h"

#define PRIO_OF_PROC 100 /* MAX_RT_PRIO: what task_prio() takes off */
#define FILE_MAX     (PATH_MAX + 256)

/* What /proc says of one thread. */
struct proc_task {
	char comm[FRBPF_COMM_LEN];
	pid_t pid;
	pid_t ppid;
	uid_t uid;
	int prio;
	int cpu;
	uint64_t born; /* clock ticks since boot */
};

static int open_task(pid_t tid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d", (int)tid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -ESRCH : fd;
}

/* The whole of a file of the task, with a NUL behind; its directory stays that of the one task,
 * whoever gets its number. */
static int read_file(int dir, const char *name, char *buf, size_t size)
{
	_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n;

	if (fd < 0)
		return -ESRCH;
	while (len + 1 < size && (n = read(fd, buf + len, size - 1 - len)) > 0)
		len += n;
	buf[len] = '\0';
	return len ? 0 : -ESRCH;
}

/* As it is: `status` and `stat` escape it. */
static int read_comm(int dir, char comm[FRBPF_COMM_LEN])
{
	char buf[128];

	if (read_file(dir, "comm", buf, sizeof(buf)))
		return -ESRCH;
	buf[strlen(buf) - 1] = '\0'; /* the line's end */
	memset(comm, 0, FRBPF_COMM_LEN);
	memcpy(comm, buf, strnlen(buf, FRBPF_COMM_LEN - 1));
	return 0;
}

static long long status_field(const char *status, const char *name)
{
	const char *line = strstr(status, name);

	return line ? strtoll(line + strlen(name), NULL, 10) : 0;
}

static int read_status(int dir, struct proc_task *ret)
{
	char buf[FILE_MAX];
	const char *euid;

	if (read_file(dir, "status", buf, sizeof(buf)))
		return -ESRCH;
	ret->pid = status_field(buf, "\nTgid:\t");
	ret->ppid = status_field(buf, "\nPPid:\t");
	euid = strstr(buf, "\nUid:\t");
	euid = euid ? strchr(euid + strlen("\nUid:\t"), '\t') : NULL;
	ret->uid = euid ? strtoul(euid, NULL, 10) : 0;
	return ret->pid ? 0 : -ESRCH;
}

/* proc_pid_stat(5): the name may have any sign in it, so fields are counted behind its last ')'. */
static int read_stat(int dir, struct proc_task *ret)
{
	char buf[FILE_MAX], *p, *save = NULL;

	if (read_file(dir, "stat", buf, sizeof(buf)))
		return -ESRCH;
	p = strrchr(buf, ')');
	p = p ? strtok_r(p + 1, " ", &save) : NULL;
	for (int field = 3; p; field++, p = strtok_r(NULL, " ", &save)) {
		if (field == 18)
			ret->prio = atoi(p) + PRIO_OF_PROC;
		else if (field == 22)
			ret->born = strtoull(p, NULL, 10);
		else if (field == 39)
			ret->cpu = atoi(p);
	}
	return ret->born ? 0 : -ESRCH;
}

static int read_task(int dir, struct proc_task *ret)
{
	*ret = (struct proc_task){ .comm = "" };
	return read_comm(dir, ret->comm) ?: read_status(dir, ret) ?: read_stat(dir, ret);
}

/* From the root down; one that is gone meanwhile has no id. */
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
	if (read_file(dir, "cgroup", buf, sizeof(buf)))
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

/* The process of a thread: its name and birth. */
static void read_leader(const struct proc_task *t, pid_t tid, struct proc_task *ret)
{
	_cleanup_close_ int dir = -1;

	*ret = *t;
	if (t->pid == tid)
		return;
	dir = open_task(t->pid);
	if (dir >= 0 && !read_comm(dir, ret->comm))
		read_stat(dir, ret);
}

static void put(struct frbpf_event *e, enum event_task who, pid_t tid, const struct proc_task *t,
		const struct proc_task *leader)
{
	__u64(*val)[2] = e->val[who];

	memcpy(val[FRBPF_FIELD_COMM], t->comm, sizeof(t->comm));
	memcpy(val[FRBPF_FIELD_PROCESS], leader->comm, sizeof(leader->comm));
	val[FRBPF_FIELD_PID][0] = t->pid;
	val[FRBPF_FIELD_TID][0] = tid;
	val[FRBPF_FIELD_PPID][0] = t->ppid;
	val[FRBPF_FIELD_UID][0] = t->uid;
	val[FRBPF_FIELD_PRIO][0] = (__s64)t->prio;
	if (who != EVENT_SUBJECT)
		return;
	e->process[0] = t->pid;
	e->process[1] = leader->born;
	e->thread[0] = tid;
	e->thread[1] = t->born;
	e->self = t->pid == getpid();
}

int proc_subject__fill(struct frbpf_event *e, enum event_task who, pid_t tid, bool cgroups)
{
	_cleanup_close_ int dir = open_task(tid);
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
	put(e, who, tid, &task, &leader);
	if (cgroups)
		read_cgroups(dir, e, who);
	return 0;
}

int proc_subject__cpu(pid_t tid)
{
	_cleanup_close_ int dir = open_task(tid);
	struct proc_task task = { .comm = "" };

	return dir < 0 || read_stat(dir, &task) ? -ESRCH : task.cpu;
}

void proc_subject__is_current(struct frbpf_event *e)
{
	memcpy(e->val[EVENT_CURRENT], e->val[EVENT_SUBJECT],
	       FRBPF_FIELD_VALUE * sizeof(e->val[0][0]));
	memcpy(e->cgroup[EVENT_CURRENT], e->cgroup[EVENT_SUBJECT], sizeof(e->cgroup[0]));
}
