// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/json_text.h"
#include "common/proc_file.h"
#include "common/rights.h"
#include "dump/state/task_state.h"
#include "rules/when.h"

#define STATUS_MAX 8192 /* bytes */

/* ---- the system call that a task is blocked in ---- */

struct task_call {
	long number;
	uint64_t args[2]; /* the first of them */
};

/*
 * Read the call of task @tid, whose /proc/TID is @dir. @e reads it, since a task in exec can block
 * the reader. False: the task runs, is not in a call, or has ended; or @e is NULL.
 */
static bool task_call__read(struct examiner *e, pid_t tid, int dir, struct task_call *ret)
{
	char text[256];
	struct proc_stat s;
	ssize_t n = -1;

	if (e)
		n = examiner__read_task(e, tid, EXAMINE_TASK_SYSCALL, 0, text, sizeof(text) - 1);
	if (n <= 0 || proc_file__stat(dir, &s)) /* once it has ended the tid may be another's */
		return false;
	text[n] = '\0';
	return sscanf(text, "%ld %" SCNx64 " %" SCNx64, &ret->number, &ret->args[0],
		      &ret->args[1]) == 3 &&
	       ret->number >= 0;
}

/* ---- the owner of what it waits for ---- */

#define LOCKS_MAX     (4 << 20)
#define FUTEX_PI_LONG 13 /* FUTEX_LOCK_PI2, since 5.14 */

/* struct __pthread_mutex_s of glibc: value of the contended futex word, and offset of the owner. */
#define MUTEX_CONTENDED 2
#define MUTEX_OWNER	8 /* bytes after the word */

/* Get the process of a task, and the number of its nested pid namespaces; 0: it has ended. */
static pid_t read_task_process(int dir, unsigned int *ret_levels)
{
	_cleanup_free_ char *text = malloc(STATUS_MAX);
	const char *tgid, *ids;

	if (!text || proc_file__read(dir, "status", text, STATUS_MAX) <= 0)
		return 0;
	tgid = proc_file__status_field(text, "Tgid");
	ids = proc_file__status_field(text, "NSpid");
	*ret_levels = 0;
	for (const char *p = ids; p && *p && *p != '\n'; p += strspn(p, "\t "), ++*ret_levels)
		p += strcspn(p, "\t \n");
	return tgid ? atoi(tgid) : 0;
}

static json_t *owner_json(const char *what, pid_t tid, pid_t pid)
{
	_cleanup_close_ int dir = proc_file__open_task(tid ?: pid);
	char comm[PROC_COMM] = "";
	json_t *o;

	if (dir < 0 || proc_file__comm(dir, comm))
		return NULL;
	o = json_pack("{s:s, s:i, s:o}", "what", what, "pid", (int)pid, "comm",
		      json_text(comm, sizeof(comm)));
	if (o && tid)
		json_object_set_new(o, "tid", json_integer(tid));
	return o;
}

/* ---- futexes ---- */

/* A waiting thread, its /proc/TID, and the examiner that reads its memory. */
struct waiting {
	struct examiner *examiner;
	pid_t tid;
	int dir;
};

static bool read_futex(const struct waiting *w, uint64_t addr, uint32_t *words, size_t n)
{
	ssize_t len = n * sizeof(*words);
	struct proc_stat s;

	/* if it has not ended, the tid is still its own */
	return examiner__read_task(w->examiner, w->tid, EXAMINE_TASK_MEMORY, addr, words, len) ==
		       len &&
	       !proc_file__stat(w->dir, &s);
}

static json_t *owner_of_futex(const struct waiting *w, const struct task_call *c)
{
	uint32_t words[MUTEX_OWNER / 4 + 1] = { 0 };
	unsigned int op = c->args[1] & FUTEX_CMD_MASK, levels;
	bool pi = op == FUTEX_LOCK_PI || op == FUTEX_PI_LONG;
	pid_t pid = read_task_process(w->dir, &levels), owner;

	/* in a container, the tid in the futex word is not the tid here */
	if (!pid || levels != 1 || (!pi && op != FUTEX_WAIT && op != FUTEX_WAIT_BITSET) ||
	    !read_futex(w, c->args[0], words, pi ? 1 : ARRAY_SIZE(words)))
		return NULL;
	if (!pi && words[0] != MUTEX_CONTENDED)
		return NULL;
	owner = pi ? words[0] & FUTEX_TID_MASK : words[MUTEX_OWNER / 4];
	return proc_file__is_thread(pid, owner) ? owner_json(pi ? "pi-futex" : "mutex", owner, pid)
						: NULL;
}

/* ---- file locks ---- */

/*
 * "1: -> FLOCK  ADVISORY  WRITE 1234 08:01:42 0 EOF": a waiter has the arrow, and is below the
 * owner.
 */
pid_t wait_owner__of_locks(const char *locks, pid_t pid)
{
	pid_t owner = 0;

	for (const char *line = locks; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *p = line + strspn(line, "0123456789");
		bool waits;
		int who;

		if (*p++ != ':')
			continue;
		p += strspn(p, " ");
		waits = !strncmp(p, "->", 2);
		p += waits ? 2 : 0;
		if (sscanf(p, " %*31s %*31s %*31s %d", &who) != 1)
			continue;
		if (!waits)
			owner = who > 0 ? who : 0;
		else if (who == pid)
			return owner;
	}
	return 0;
}

static json_t *owner_of_file_lock(int dir)
{
	struct buf text = { 0 };
	unsigned int levels;
	pid_t pid = read_task_process(dir, &levels), owner = 0;

	if (pid && !buf__read_file(&text, "/proc/locks", LOCKS_MAX) && !buf__add(&text, "", 1))
		owner = wait_owner__of_locks(text.data, pid);
	buf__free(&text);
	return owner ? owner_json("file-lock", 0, owner) : NULL;
}

int wait_owner__read(struct examiner *e, pid_t tid, int dir, json_t **ret)
{
	RAISED_RIGHTS(RIGHTS_PROCESSES);
	const struct waiting w = { e, tid, dir };
	struct task_call call;
	json_t *o = NULL;

	if (!task_call__read(e, tid, dir, &call))
		return -ENODATA;
	if (call.number == SYS_futex)
		o = owner_of_futex(&w, &call);
	else if (call.number == SYS_flock || call.number == SYS_fcntl)
		o = owner_of_file_lock(dir);
	if (!o)
		return -ENODATA;
	*ret = o;
	return 0;
}

/* ---- where it waits: system call, file, function of the kernel ---- */

#define WCHAN_MAX     128 /* bytes, as KSYM_NAME_LEN once was */
#define CALL_PATH_MAX 512 /* bytes */

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
	if (len <= 0 || proc_file__stat(dir, &s)) /* once it has ended the tid may be another's */
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
static int wait_place__read(struct examiner *e, pid_t tid, int dir, json_t **ret)
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

/* ---- the state ---- */

#define COMMAND_MAX 512	 /* bytes */
#define PARENTS_MAX 8	 /* generations of parents, at most */
#define LINES_MAX   8192 /* bytes of `cgroup` */
#define CPUS_MAX    256	 /* bytes of a list of CPUs */

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
	if (proc_file__stat(dir, &s)) /* it has ended: the tid may be another's */
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

int task_state__more(struct examiner *e, pid_t tid, uint64_t time, bool pending, json_t **ret)
{
	struct proc_stat s;
	_cleanup_close_ int dir = open_task_file(tid, time, &s);
	json_t *o, *part;

	if (dir < 0)
		return dir;
	o = json_object();
	if (o && !wait_owner__read(e, tid, dir, &part)) /* first, as it may change */
		json_object_set_new(o, "waits_for", part);
	if (o && pending && !wait_place__read(e, tid, dir, &part))
		json_object_set_new(o, "waits_in", part);
	if (o && e && !task_state__command(e, tid, time, &part))
		json_object_set_new(o, "command", part);
	if (!o)
		return -ENOMEM;
	*ret = o;
	return 0;
}
