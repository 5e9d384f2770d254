// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/json_text.h"
#include "common/proc_file.h"
#include "common/rights.h"
#include "dump/state/task_call.h"
#include "dump/state/task_state.h"
#include "dump/state/wait_owner.h"
#include "rules/when.h"

#define STATUS_MAX  8192 /* bytes */
#define COMMAND_MAX 512	 /* bytes */
#define PARENTS_MAX 8	 /* generations of parents, at most */
#define LINES_MAX   8192 /* bytes of `cgroup` */
#define CPUS_MAX    256	 /* bytes of a list of CPUs */

#define WCHAN_MAX     128 /* bytes, as KSYM_NAME_LEN once was */
#define CALL_PATH_MAX 512 /* bytes */

/* Clock ticks at @time. Start times of tasks count suspends, CLOCK_MONOTONIC does not. */
static uint64_t ticks_at(uint64_t time)
{
	uint64_t suspended = clock_ns(CLOCK_BOOTTIME) - now_ns();
	long hz = sysconf(_SC_CLK_TCK);

	return (time + suspended) / (1000000000ULL / (hz > 0 ? hz : 100));
}

/* Open the directory of task @tid in /proc. -ESRCH: the task did not exist at @time. */
static int open_task_file(pid_t tid, uint64_t time, struct proc_stat *ret)
{
	int dir = proc_file__open_task(tid);

	if (dir < 0)
		return dir;
	if (!proc_file__stat(dir, ret) && ret->born <= ticks_at(time))
		return dir;
	close(dir);
	return -ESRCH;
}

static const char *policy_word(int policy)
{
	static const char *const words[] = {
		[SCHED_OTHER] = "other",
		[SCHED_FIFO] = "fifo",
		[SCHED_RR] = "rr",
		[SCHED_BATCH] = "batch",
		[SCHED_IDLE] = "idle",
		[6] = "deadline",
		[7] = "ext",
	};

	return policy >= 0 && policy < (int)ARRAY_SIZE(words) && words[policy] ? words[policy]
									       : "?";
}

static void add_status(json_t *o, int dir)
{
	_cleanup_free_ char *text = malloc(STATUS_MAX);
	const char *v;

	if (!text || proc_file__read(dir, "status", text, STATUS_MAX) <= 0)
		return;
	v = proc_file__status_field(text, "Cpus_allowed_list");
	if (v)
		json_object_set_new(
			o, "cpus",
			json_text(v, strcspn(v, "\n") < CPUS_MAX ? strcspn(v, "\n") : CPUS_MAX));
	v = proc_file__status_field(text, "VmRSS");
	if (v)
		json_object_set_new(o, "resident_bytes",
				    json_integer((json_int_t)(strtoull(v, NULL, 10) * 1024)));
}

/*
 * List the parents, nearest first. A task younger than the child has reused the pid of a parent
 * that ended.
 */
static json_t *read_parents(const struct proc_stat *child)
{
	json_t *list = json_array();
	struct proc_stat below = *child, s;
	char comm[PROC_COMM];

	while (list && below.ppid > 0 && json_array_size(list) < PARENTS_MAX) {
		_cleanup_close_ int dir = proc_file__open_task(below.ppid);

		if (dir < 0 || proc_file__comm(dir, comm) || proc_file__stat(dir, &s) ||
		    s.born > below.born)
			break;
		json_array_append_new(list, json_pack("{s:i, s:o}", "pid", (int)below.ppid, "comm",
						      json_text(comm, sizeof(comm))));
		below = s;
	}
	return list;
}

int task_state__read(const struct cgroup_roots *roots, pid_t tid, uint64_t time, json_t **ret)
{
	_cleanup_free_ char *lines = malloc(LINES_MAX);
	struct proc_stat s;
	_cleanup_close_ int dir = open_task_file(tid, time, &s);
	uint64_t now = now_ns();
	json_t *o;

	if (dir < 0)
		return dir;
	o = json_pack("{s:I, s:s, s:i, s:i}", "read_after_ns",
		      (json_int_t)(now > time ? now - time : 0), "policy", policy_word(s.policy),
		      "nice", s.nice, "rt_priority", s.rt_priority);
	if (!o || !lines) {
		json_decref(o);
		return -ENOMEM;
	}
	add_status(o, dir);
	if (proc_file__read(dir, "cgroup", lines, LINES_MAX) > 0)
		cgroup_state__add(roots, lines, o);
	json_object_set_new(o, "parents", read_parents(&s));
	*ret = o;
	return 0;
}

int task_state__command(struct examiner *e, pid_t tid, uint64_t time, json_t **ret)
{
	struct proc_stat s;
	_cleanup_close_ int dir = open_task_file(tid, time, &s);
	char text[COMMAND_MAX];
	ssize_t len;

	if (dir < 0)
		return dir;
	len = examiner__read_task(e, tid, EXAMINE_TASK_COMMAND, 0, text, COMMAND_MAX - 1);
	if (len < 0)
		return len;
	if (proc_file__stat(dir, &s)) /* the task has ended: its tid may be reused */
		return -ESRCH;
	while (len > 0 && !text[len - 1])
		len--;
	if (len <= 0)
		return -ENODATA;
	for (ssize_t i = 0; i < len; i++)
		if (!text[i])
			text[i] = ' ';
	*ret = json_text(text, len);
	return *ret ? 0 : -ENOMEM;
}

/* ---- where it waits: system call, file, function of the kernel ---- */

/* The file of descriptor @fd as /proc shows it; NULL: it is closed. */
static json_t *file_name(int dir, unsigned int fd)
{
	char link[32], path[PATH_MAX];
	ssize_t len;

	snprintf(link, sizeof(link), "fd/%u", fd);
	len = readlinkat(dir, link, path, sizeof(path));
	return len > 0 ? json_text(path, len) : NULL;
}

/* The path that was passed to the call, from the task's memory; NULL: none, or unreadable. */
static json_t *call_path(struct examiner *e, pid_t tid, int dir, const struct task_call *call)
{
	enum frbpf_call_file arg = syscall__file_arg((int)call->number);
	char path[CALL_PATH_MAX];
	struct proc_stat s;
	ssize_t len;

	if (arg != FRBPF_CALL_PATH_FIRST && arg != FRBPF_CALL_PATH_SECOND)
		return NULL;
	len = examiner__read_task(e, tid, EXAMINE_TASK_MEMORY,
				  call->args[arg == FRBPF_CALL_PATH_SECOND], path, sizeof(path));
	if (len <= 0 || proc_file__stat(dir, &s)) /* if the task has ended, its tid may be reused */
		return NULL;
	return json_text(path, (size_t)len);
}

static void add_task_call(json_t *o, struct examiner *e, pid_t tid, int dir)
{
	struct task_call call;
	const char *name;
	json_t *file, *path;

	if (!task_call__read(e, tid, dir, &call) || call.number > INT_MAX)
		return;
	name = syscall__name((int)call.number);
	json_object_set_new(o, "syscall", name ? json_string(name) : json_integer(call.number));
	file = syscall__file_arg((int)call.number) == FRBPF_CALL_DESCRIPTOR
		       ? file_name(dir, (unsigned int)call.args[0])
		       : NULL;
	if (file)
		json_object_set_new(o, "file", file);
	path = call_path(e, tid, dir, &call);
	if (path)
		json_object_set_new(o, "path", path);
}

/*
 * Get what the task @tid, whose /proc/TID is @dir, waits in: {"syscall", "file", "path", "wchan"},
 * owned by the caller; what is unknown is left out. @e looks into the task; it may be NULL. 0;
 * -ENODATA: it runs, or nothing is known; or -ENOMEM.
 */
static int read_wait_place(struct examiner *e, pid_t tid, int dir, json_t **ret)
{
	RAISED_RIGHTS(RIGHTS_PROCESSES);
	char wchan[WCHAN_MAX];
	json_t *o = json_object();

	if (!o)
		return -ENOMEM;
	add_task_call(o, e, tid, dir);
	if (proc_file__read(dir, "wchan", wchan, sizeof(wchan)) > 0 && strcmp(wchan, "0") != 0)
		json_object_set_new(o, "wchan", json_text(wchan, sizeof(wchan)));
	if (!json_object_size(o)) {
		json_decref(o);
		return -ENODATA;
	}
	*ret = o;
	return 0;
}

int task_state__more(struct examiner *e, pid_t tid, uint64_t time, bool pending, json_t **ret)
{
	struct proc_stat s;
	_cleanup_close_ int dir = open_task_file(tid, time, &s);
	json_t *o, *part;

	if (dir < 0)
		return dir;
	o = json_object();
	if (o && !wait_owner__read(e, tid, dir, &part)) /* first, as the owner may change */
		json_object_set_new(o, "waits_for", part);
	if (o && pending && !read_wait_place(e, tid, dir, &part))
		json_object_set_new(o, "waits_in", part);
	if (o && e && !task_state__command(e, tid, time, &part))
		json_object_set_new(o, "command", part);
	if (!o)
		return -ENOMEM;
	*ret = o;
	return 0;
}
