// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/json_text.h"
#include "common/proc_file.h"
#include "common/rights.h"
#include "dump/state/task_call.h"
#include "dump/state/wait_owner.h"

#define STATUS_MAX    8192 /* bytes */
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

	/* as the task has not ended, the tid is still its own */
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
