// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/array.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/proc_file.h"
#include "common/rights.h"
#include "sideband/proc_maps.h"
#include "sideband/proc_scan.h"
#include "sideband/proc_text.h"

/* ---- kernel threads ---- */

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h; a bit in field 9 of stat */

size_t kernel_thread__comm_len(const char *comm, size_t len)
{
	static const char prefix[] = "kworker/";
	const char *colon;
	size_t i;

	if (len < sizeof(prefix) || memcmp(comm, prefix, sizeof(prefix) - 1) != 0)
		return len;
	colon = memchr(comm, ':', len);
	for (i = colon ? (size_t)(colon - comm) : len; i < len; i++)
		if (comm[i] == '-' || comm[i] == '+')
			return i;
	return len;
}

/* proc_pid_stat(5): "pid (comm) state ppid ..." */
struct stat_line {
	const char *comm; /* not NUL-terminated */
	size_t comm_len;
	char state;
	uint64_t flags, n_threads;
};

/* False: malformed. */
static bool parse_stat(const char *text, struct stat_line *ret)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')'), *s;
	int field;

	if (!open || !close || close < open || close[1] != ' ')
		return false;
	s = close + 2;
	ret->state = *s;
	for (field = 3; field < 9; field++)
		s = proc_text__next_field(s);
	proc_text__dec(s, &ret->flags);
	for (; field < 20; field++)
		s = proc_text__next_field(s);
	proc_text__dec(s, &ret->n_threads);
	ret->comm = open + 1;
	ret->comm_len = close - open - 1;
	if (ret->flags & PF_KTHREAD)
		ret->comm_len = kernel_thread__comm_len(ret->comm, ret->comm_len);
	return true;
}

/* Is it a zombie, or about to disappear? */
static bool is_dead(const struct stat_line *s)
{
	return s->state == 'Z' || s->state == 'X';
}

bool kernel_thread__name(uint32_t tid, char ret[static KERNEL_THREAD_COMM])
{
	_cleanup_close_ int dir = proc_file__open_task(tid);
	struct stat_line s;
	char text[512];

	if (dir < 0 || proc_file__read(dir, "stat", text, sizeof(text)) <= 0 ||
	    !parse_stat(text, &s) || !(s.flags & PF_KTHREAD))
		return false;
	snprintf(ret, KERNEL_THREAD_COMM, "%.*s", (int)s.comm_len, s.comm);
	return ret[0] && strcmp(ret, "kthreadd") != 0;
}

/* ---- all processes ---- */

#define STAT_MAX    ((size_t)4096)
#define READERS_MAX 4
#define BATCH	    16 /* processes that a reader claims at once */

/* in the order of NET_NS_INDEX and the others in include/uapi/linux/perf_event.h */
static const char *const ns_links[] = { "net", "uts", "ipc", "pid", "user", "mnt", "cgroup" };

/* A scan, shared by its readers. */
struct scan {
	int proc; /* directory */
	uint32_t *pids;
	size_t n_pids, cap_pids;
	size_t next;	 /* index in pids; atomic */
	uint64_t ns_dev; /* the device of namespaces */
	bool data;	 /* maps that are not executable, too */
	pthread_mutex_t lock;
	struct task_model *m; /* under the lock */
};

struct thread_name {
	uint32_t tid;
	uint32_t len;
	char comm[TASK_COMM_LEN];
};

/* A reader and the process that it reads now. The buffers are reused for the next process. */
struct reader {
	struct scan *scan;
	pthread_t thread;
	int err;
	struct buf text;       /* a file of /proc */
	uint64_t time;	       /* ns: before the process was read */
	struct stat_line stat; /* without its text */
	struct buf threads;    /* struct thread_name: the leader first */
	struct proc_maps maps;
	uint64_t ns[ARRAY_SIZE(ns_links)][2];
	size_t n_ns;
};

static int read_proc_file(struct buf *b, int dir, const char *name)
{
	_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);

	b->len = 0;
	return fd < 0 ? -errno : buf__read_fd(b, fd, STAT_MAX);
}

static int add_thread_name(struct reader *r, uint32_t tid, const char *comm, size_t len)
{
	struct thread_name t = { .tid = tid };

	t.len = len < sizeof(t.comm) ? len : sizeof(t.comm) - 1;
	memcpy(t.comm, comm, t.len);
	return buf__add(&r->threads, &t, sizeof(t));
}

static bool is_number(const char *s, uint32_t *ret)
{
	uint64_t v;

	if (*s < '0' || *s > '9' || *proc_text__dec(s, &v) || v > UINT32_MAX)
		return false;
	*ret = v;
	return true;
}

static int read_threads(struct reader *r, int dir, uint32_t pid)
{
	int fd = openat(dir, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	DIR *tasks = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;
	char path[32];
	uint32_t tid;

	if (!tasks) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while (err != -ENOMEM && (de = readdir(tasks))) {
		if (!is_number(de->d_name, &tid) || tid == pid)
			continue;
		snprintf(path, sizeof(path), "%u/comm", tid);
		err = read_proc_file(&r->text, fd, path);
		if (!err && r->text.len)
			err = add_thread_name(r, tid, r->text.data,
					      r->text.len - 1); /* no newline */
	}
	closedir(tasks);
	return err == -ENOMEM ? err : 0;
}

/* Encode a device as the kernel's records do: new_encode_dev() in include/linux/kdev_t.h. */
static uint64_t encode_dev(dev_t dev)
{
	uint32_t min = minor(dev);

	return (min & 0xff) | major(dev) << 8 | (min & ~0xffU) << 12;
}

/*
 * Read the inodes of the namespaces from their links, which costs half as much as stat(). Their
 * device is the same for all: scan.ns_dev.
 */
static void read_namespaces(struct reader *r, int dir)
{
	_cleanup_close_ int fd = openat(dir, "ns", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char text[64], *number; /* "net:[4026531840]" */
	ssize_t n;
	size_t i;

	for (i = 0; fd >= 0 && i < ARRAY_SIZE(ns_links); i++) {
		n = readlinkat(fd, ns_links[i], text, sizeof(text) - 1);
		if (n < 0)
			return;
		text[n] = '\0';
		number = strchr(text, '[');
		if (!number)
			return;
		r->ns[i][0] = r->scan->ns_dev;
		proc_text__dec(number + 1, &r->ns[i][1]);
	}
	r->n_ns = i;
}

/* Read a process, but do not add it yet. 0; 1: the process is gone; -ENOMEM. */
static int read_scanned_process(struct reader *r, uint32_t pid)
{
	const struct stat_line *stat = &r->stat;
	char path[32];
	int err;

	r->time = now_ns();
	r->threads.len = r->maps.n = r->n_ns = 0;
	snprintf(path, sizeof(path), "%u/stat", pid);
	err = read_proc_file(&r->text, r->scan->proc, path);
	if (!err && (!r->text.len || !parse_stat(r->text.data, &r->stat)))
		err = -ENODATA;
	err = err ?: add_thread_name(r, pid, stat->comm, stat->comm_len);
	if (err)
		return err == -ENOMEM ? err : 1;
	if (stat->flags & PF_KTHREAD || (is_dead(stat) && stat->n_threads <= 1))
		return 0;
	path[strlen(path) - strlen("/stat")] = '\0';
	_cleanup_close_ int dir = openat(r->scan->proc, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return 0;
	if (stat->n_threads > 1)
		err = read_threads(r, dir, pid);
	err = err ?: proc_maps__read(&r->maps, dir);
	read_namespaces(r, dir);
	return err == -ENOMEM ? err : 0;
}

/* Add what was read to the model. Under the lock. */
static int add_process(struct reader *r, uint32_t pid)
{
	const struct thread_name *t = (const void *)r->threads.data;
	size_t n = r->threads.len / sizeof(*t), i;
	struct task_model *m = r->scan->m;
	int err = task_model__add_process(m, pid, r->time);

	for (i = 0; i < n && !err; i++)
		err = task_model__set_comm(m, pid, t[i].tid, t[i].comm, t[i].len);
	for (i = 0; i < r->maps.n && !err; i++) {
		err = task_model__add_map(m, pid, &r->maps.v[i]);
		if (err != -ENOMEM)
			err = 0;
	}
	if (!err && r->n_ns)
		err = task_model__set_namespaces(m, pid, (const void *)r->ns, r->n_ns);
	if (!err && is_dead(&r->stat)) /* the leader; other threads may live on */
		err = task_model__exit(m, pid, pid, r->time);
	return err;
}

static int scan_process(struct reader *r, uint32_t pid)
{
	int err = read_scanned_process(r, pid);

	if (err)
		return err < 0 ? err : 0;
	pthread_mutex_lock(&r->scan->lock);
	err = add_process(r, pid);
	pthread_mutex_unlock(&r->scan->lock);
	return err;
}

static void *reader_main(void *arg)
{
	RAISED_RIGHTS(RIGHTS_PROCESSES);
	struct reader *r = arg;
	struct scan *s = r->scan;
	size_t i, end;

	do {
		i = __atomic_fetch_add(&s->next, BATCH, __ATOMIC_RELAXED);
		for (end = i + BATCH; i < end && i < s->n_pids && !r->err; i++)
			r->err = scan_process(r, s->pids[i]);
	} while (i == end && !r->err);
	buf__free(&r->text);
	buf__free(&r->threads);
	proc_maps__free(&r->maps);
	return NULL;
}

static int list_pid(struct scan *s, uint32_t pid)
{
	if (!ARRAY_HAS_ROOM(s->pids, s->n_pids, s->cap_pids, 1024))
		return -ENOMEM;
	s->pids[s->n_pids++] = pid;
	return 0;
}

static int list_pids(struct scan *s)
{
	DIR *proc = opendir("/proc");
	struct dirent *de;
	uint32_t pid;
	int err = 0;

	if (!proc)
		return -errno;
	while (!err && (de = readdir(proc)))
		if (is_number(de->d_name, &pid))
			err = list_pid(s, pid);
	closedir(proc);
	return err;
}

/* Run @n readers. The first one runs in the caller's thread. */
static int run_readers(struct scan *s, unsigned int n)
{
	struct reader readers[READERS_MAX] = { 0 };
	unsigned int started = 1, i;
	int err = 0;

	for (i = 0; i < READERS_MAX; i++) {
		readers[i].scan = s;
		readers[i].maps.data = s->data;
	}
	while (started < n && started < READERS_MAX && s->n_pids > started * BATCH &&
	       !pthread_create(&readers[started].thread, NULL, reader_main, &readers[started]))
		started++;
	reader_main(&readers[0]);
	for (i = 1; i < started; i++)
		pthread_join(readers[i].thread, NULL);
	for (i = 0; i < started && !err; i++)
		err = readers[i].err;
	return err;
}

static int open_scan(struct scan *s, struct task_model *m)
{
	struct stat st;

	*s = (struct scan){ .m = m };
	s->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (s->proc < 0)
		return -errno;
	pthread_mutex_init(&s->lock, NULL);
	if (!stat("/proc/self/ns/net", &st))
		s->ns_dev = encode_dev(st.st_dev);
	return 0;
}

static void close_scan(struct scan *s)
{
	close(s->proc);
	free(s->pids);
	pthread_mutex_destroy(&s->lock);
}

int proc_scan__process(struct task_model *m, uint32_t pid)
{
	struct scan s;
	int err;

	if (open_scan(&s, m))
		return 0;
	err = list_pid(&s, pid);
	err = err ?: run_readers(&s, 1);
	close_scan(&s);
	return err;
}

int proc_scan__tasks(struct task_model *m, bool data, unsigned int n_readers, struct err *err)
{
	struct scan s;
	int code = open_scan(&s, m);

	if (code)
		return err_set(err, code, "cannot read /proc: %s", strerror(-code));
	s.data = data;
	code = list_pids(&s);
	code = code ?: run_readers(&s, n_readers);
	close_scan(&s);
	return code ? err_set(err, code, "reading /proc: %s", strerror(-code)) : 0;
}
