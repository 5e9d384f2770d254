// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/proc_file.h"
#include "detect/engine/cgroups.h"
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
	return __atomic_load_n(&i->skel->bss->control.bank_flips, __ATOMIC_ACQUIRE) & 1;
}

bool inject__wants(const struct inject *i, enum frbpf_field field)
{
	const struct frbpf_control *c = &i->skel->bss->control;

	if (field == FRBPF_FIELD_CGROUP && c->scope == FRBPF_SCOPE_CGROUP)
		return true;
	return c->bank[inject__bank(i)].fields & (1U << field);
}

/* @code: errno of pidfd_open(). EINVAL: the task was reaped, but its pid is not free yet. */
static bool sender_ended(int code)
{
	return code == ESRCH || code == EINVAL;
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
	again = syscall(SYS_pidfd_open, pid, 0); /* the task may have ended meanwhile */
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

/* ---- the tasks of an event, from /proc ---- */

#define PRIO_OF_PROC 100 /* MAX_RT_PRIO, which task_prio() subtracts for /proc */
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
	uid = uid ? strchr(uid, '\t') : NULL; /* the second uid is the effective one */
	ret->pid = pid ? atoi(pid) : 0;
	ret->ppid = ppid ? atoi(ppid) : 0;
	ret->uid = uid ? strtoul(uid, NULL, 10) : 0;
	return ret->pid ? 0 : -ESRCH;
}

static int read_proc_task(int dir, struct proc_task *ret)
{
	*ret = (struct proc_task){ .comm = "" };
	return proc_file__comm(dir, ret->comm)
		       ?: read_status(dir, ret)
		       ?: proc_file__stat(dir, &ret->stat);
}

/* Add the ids of existing cgroups, from the root down. own_cgroup is 0 if the last was removed. */
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

	if (dir < 0 || read_proc_task(dir, &task)) {
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
