/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sources of pending events, for test_pending_cases.c: how a child of the test hangs in each
 * one until it is released, and how it stays in one for a given time.
 */
#ifndef TESTS_UNIT_PENDING_SOURCES_H
#define TESTS_UNIT_PENDING_SOURCES_H

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "fuse_fixture.h"
#include "loop_device.h"
#include "memory_group.h"
#include "pending_fixture.h"
#include "user_probe_fixture.h"

struct pending_source {
	const char *name;
	const char *when;      /* "SELF" stands for this program */
	const char *condition; /* "" or "&& ..." */
	const char *table;     /* the hash table that its looks walk; NULL: there is none */
	uint64_t threshold;    /* ms: longer than anything else that a child with that name does */
	long (*hang)(long what, long fd); /* until a byte comes from @fd, or let_go() */
	void (*rest)(long ns);
	bool (*begin)(void);	   /* may be NULL. False: not possible here */
	bool (*again)(void);	   /* after let_go(), before the next one hangs; may be NULL */
	void (*end)(void);	   /* may be NULL */
	void (*let_go)(pid_t pid); /* NULL: write a byte for each child */
	void (*wait_anew)(void);   /* ends all waits for a moment; NULL: not possible */
	size_t n_at_once;	   /* children whose rests do not delay one another */
	bool fuzzy;		   /* its children may have other events, too */
};

static inline void sleep_ns(long ns)
{
	const struct timespec ts = { 0, ns };

	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL);
}

/* ---- calls, sleeps, spans, functions: children read from a pipe ---- */

static inline long hang_in_call(long what, long fd)
{
	char c;

	return syscall(SYS_read, (int)fd, &c, 1);
}

/* The parent of a vfork() is in uninterruptible sleep until the child has ended. */
static inline long hang_blocked(long what, long fd)
{
	signal(SIGCHLD, SIG_IGN);
	if (vfork())
		return 0;
	set_name("frbpf-vchild");
	hang_in_call(what, fd);
	_exit(0);
}

static inline void rest_blocked(long ns)
{
	signal(SIGCHLD, SIG_IGN);
	if (vfork())
		return;
	sleep_ns(ns);
	_exit(0);
}

WATCHED void watched_begin(void);
WATCHED void watched_begin(void)
{
	__asm__ volatile("" ::: "memory");
}

WATCHED void watched_end(void);
WATCHED void watched_end(void)
{
	__asm__ volatile("" ::: "memory");
}

static inline long hang_in_span(long what, long fd)
{
	watched_begin();
	hang_in_call(what, fd);
	watched_end();
	return 0;
}

static inline void rest_in_span(long ns)
{
	watched_begin();
	sleep_ns(ns);
	watched_end();
}

/* Lasts until @fd can be read; if @fd < 0, for @what ns. */
WATCHED long watched_call(long what, long fd);
WATCHED long watched_call(long what, long fd)
{
	if (fd < 0)
		sleep_ns(what);
	else
		hang_in_call(what, fd);
	return what + fd;
}

static inline void rest_in_function(long ns)
{
	watched_call(ns, -1);
}

/*
 * ---- waits for a CPU: behind a real-time task on the last CPU, which is stopped until needed ----
 */

static struct {
	pid_t pid; /* 0: there is none */
	int cpu;
} hog;

static inline bool pin_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return !sched_setaffinity(0, sizeof(set), &set);
}

static inline bool go_real_time(void)
{
	const struct sched_param first = { .sched_priority = 1 };

	return !sched_setscheduler(0, SCHED_FIFO, &first);
}

/* Takes a whole CPU, so it must end if the test is killed. */
static inline void hog_run(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	set_name("frbpf-hog");
	if (getppid() != test_pid() || !pin_to(hog.cpu) || !go_real_time())
		_exit(1);
	raise(SIGSTOP);
	for (;;)
		__asm__ volatile("");
}

/* Start the hog. False: there is only one CPU, or real-time priority is refused. */
static inline bool hog_begin(void)
{
	siginfo_t info = { 0 };
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) || CPU_COUNT(&set) < 2)
		return false;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &set))
			hog.cpu = cpu;
	}
	hog.pid = fork();
	if (!hog.pid)
		hog_run();
	if (hog.pid < 0 || waitid(P_PID, hog.pid, &info, WSTOPPED | WEXITED | WNOWAIT))
		return false;
	return info.si_code == CLD_STOPPED;
}

static inline void hog_stop(pid_t unused)
{
	kill(hog.pid, SIGSTOP);
}

static inline void hog_pause(void)
{
	hog_stop(0);
	usleep(200000);
	kill(hog.pid, SIGCONT);
}

static inline void hog_end(void)
{
	if (hog.pid > 0) {
		kill(hog.pid, SIGKILL);
		waitpid(hog.pid, NULL, 0);
	}
	hog.pid = 0;
}

/*
 * Wait for the CPU until the other end of @fd is closed. The kernel reserves some CPU time for
 * other tasks, so a wait may end after a second; then the next one begins.
 */
static inline long hang_for_cpu(long what, long fd)
{
	struct pollfd end = { .fd = (int)fd };

	if (!pin_to(hog.cpu))
		_exit(1);
	kill(hog.pid, SIGCONT);
	while (!poll(&end, 1, 0))
		sched_yield();
	set_name("frbpf-done");
	return 0;
}

static int rests[2]; /* a pipe: the length of each wait, ns */
static atomic_bool takes_cpu;

static inline void *take_cpu(void *unused)
{
	struct timespec ts;
	int64_t until;
	long ns;

	set_name("frbpf-hog");
	if (!go_real_time())
		_exit(1);
	takes_cpu = true;
	while (read(rests[0], &ns, sizeof(ns)) == sizeof(ns)) {
		clock_gettime(CLOCK_MONOTONIC, &ts);
		until = ts.tv_sec * 1000000000LL + ts.tv_nsec + ns;
		do
			clock_gettime(CLOCK_MONOTONIC, &ts);
		while (ts.tv_sec * 1000000000LL + ts.tv_nsec < until);
	}
	return NULL;
}

/* A thread of higher priority takes the CPU from this one as soon as it is woken. */
static inline void rest_for_cpu(long ns)
{
	pthread_t thread;

	if (!rests[1] &&
	    (!pin_to(hog.cpu) || pipe(rests) || pthread_create(&thread, NULL, take_cpu, NULL)))
		_exit(1);
	while (!takes_cpu)
		sched_yield();
	if (write(rests[1], &ns, sizeof(ns)) != sizeof(ns))
		_exit(1);
}

/* ---- block requests: to disks whose file server does not answer ---- */

#define DISKS	   10 /* a disk has at most 128 requests under way */
#define DISK_SIZE  (1 << 30)
#define STRIDE	   (128 << 10) /* so far apart that no read fills the cache for another */
#define FILL_SIZE  (1 << 20)
#define FILL_CROWD (144 << 20)

static struct {
	struct fuse_fixture fuse;
	struct loop_device loop[DISKS];
	int direct[DISKS];
	long n_rests;
	struct memory_group group;
} disks;

static inline void disks_answer(pid_t pid)
{
	kill(disks.fuse.server, SIGCONT);
}

/*
 * Stop the server. Only the test itself, its parent, can wait until it has stopped; its children
 * cannot.
 */
static inline void disks_stop(void)
{
	siginfo_t info;

	kill(disks.fuse.server, SIGSTOP);
	if (getpid() == test_pid())
		assert_int_equal(waitid(P_PID, disks.fuse.server, &info, WSTOPPED | WNOWAIT), 0);
}

/* Set the latency of writes, us, above which the kernel throttles them; 0: never; -1: default. */
static inline void disk_throttle(const struct loop_device *loop, int latency)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/block/loop%d/queue/wbt_lat_usec", loop->number);
	f = fopen(path, "r+e"); /* some kernels do not have it */
	if (!f)
		return;
	fprintf(f, "%d", latency);
	fclose(f);
}

static inline void disks_end(void)
{
	fuse_fixture__unmount(&disks.fuse);
	for (int i = 0; i < DISKS; i++) {
		if (disks.direct[i] > 0)
			close(disks.direct[i]);
		if (disks.loop[i].fd <= 0)
			continue;
		disk_throttle(&disks.loop[i], -1);
		close(disks.loop[i].fd);
	}
	memset(&disks, 0, sizeof(disks));
}

static inline bool disks_mount(void)
{
	char name[] = "/var/tmp/frbpf-disk-XXXXXX";
	int file = mkostemp(name, O_CLOEXEC);
	bool mounted =
		file >= 0 && !ftruncate(file, DISK_SIZE) && fuse_fixture__mount(&disks.fuse, name);

	close(file);
	unlink(name);
	return mounted;
}

static inline bool disk_attach(int i, int file)
{
	if (loop_device_over(&disks.loop[i], file, 0))
		return false;
	disk_throttle(&disks.loop[i], 0);
	disks.direct[i] = open(disks.loop[i].path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	return disks.direct[i] >= 0;
}

/* Keeps no descriptor of the file open: a child that closes it would have to ask the server. */
static inline bool disks_begin(void)
{
	bool attached;
	int file;

	memset(&disks, 0, sizeof(disks));
	if (!disks_mount())
		return false;
	file = open(disks.fuse.path, O_RDWR | O_CLOEXEC);
	attached = file >= 0 && !posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
	for (int i = 0; i < DISKS && attached; i++)
		attached = disk_attach(i, file);
	close(file);
	if (attached)
		disks_stop();
	return attached;
}

static inline bool disks_again(void)
{
	disks_stop();
	return true;
}

static inline long hang_on_disk(long what, long fd)
{
	static _Alignas(4096) char buf[4096];

	if (pread(disks.direct[what % DISKS], buf, sizeof(buf), (what + 16) * STRIDE) != 4096)
		_exit(1);
	return 0;
}

/* Run @fn while another child waits for @ns to let the disks answer. */
static inline void rest_stopped(long ns, void (*fn)(void))
{
	pid_t timer;

	disks_stop();
	timer = fork();
	if (!timer) {
		set_name("frbpf-timer");
		sleep_ns(ns);
		disks_answer(0);
		_exit(0);
	}
	fn();
	if (waitpid(timer, NULL, 0) != timer)
		_exit(1);
}

static inline void read_next_block(void)
{
	hang_on_disk(5000 + disks.n_rests++, 0);
}

static inline void rest_on_disk(long ns)
{
	rest_stopped(ns, read_next_block);
}

/* ---- reclaim: it meets pages under writeback to such a disk ---- */

static inline int fill_from(int disk, size_t size)
{
	static char buf[4096]; /* small, because a task reclaims many pages at once */
	int fd = open(disks.loop[disk].path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return 1;
	for (size_t done = 0; done < size; done += sizeof(buf)) {
		if (write(fd, buf, sizeof(buf)) != sizeof(buf))
			return 1;
	}
	return sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE) ? 1 : 0;
}

static inline int fill_group(void *arg)
{
	const size_t *size = arg;
	char pid[16];
	int err;

	snprintf(pid, sizeof(pid), "%d", getpid());
	err = memory_group_write(&disks.group, "cgroup.procs", pid);
	for (int i = 0; i < DISKS && !err; i++)
		err = fill_from(i, *size / DISKS);
	return err ? 1 : 0;
}

static inline bool group_fill(size_t size)
{
	pid_t pid;

	return !in_child(fill_group, &size, &pid);
}

static inline bool memory_again(void)
{
	disks_stop();
	return group_fill(FILL_SIZE);
}

/* Needs cgroup version 1: in version 2, reclaim waits for writes for 0.1 s at a time only. */
static inline bool memory_begin(void)
{
	char path[192];

	if (!disks_begin() || memory_group_make(&disks.group, "1073741824"))
		return false;
	snprintf(path, sizeof(path), "%s/memory.force_empty", disks.group.path);
	return !access(path, W_OK) && group_fill(FILL_SIZE);
}

static inline void memory_end(void)
{
	struct memory_group group = disks.group;

	disks_end();
	if (group.path[0])
		memory_group_remove(&group);
}

/* The write fails if nothing could be freed. */
static inline long hang_for_memory(long what, long fd)
{
	memory_group_write(&disks.group, "memory.force_empty", "0");
	return 0;
}

static inline void empty_group(void)
{
	hang_for_memory(0, 0);
}

static inline void rest_for_memory(long ns)
{
	if (!group_fill(FILL_SIZE))
		_exit(1);
	rest_stopped(ns, empty_group);
}

/* ---- the sources ---- */

#define CALLS_AS_SPANS "raw_syscalls:sys_enter -> raw_syscalls:sys_exit by tid"
#define PLACES	       "uprobe:SELF:watched_begin -> uprobe:SELF:watched_end by tid"

#define OF_DISKS(source)                                                                           \
	{                                                                                          \
		.name = source, .when = source, .condition = " && op == read", .table = "flights", \
		.threshold = 100, .hang = hang_on_disk, .rest = rest_on_disk,                      \
		.begin = disks_begin, .again = disks_again, .end = disks_end,                      \
		.let_go = disks_answer, .n_at_once = 1                                             \
	}

static const struct pending_source pending_sources[] = {
	{ .name = "runqlat",
	  .when = "runqlat",
	  .threshold = 100,
	  .hang = hang_for_cpu,
	  .rest = rest_for_cpu,
	  .begin = hog_begin,
	  .end = hog_end,
	  .let_go = hog_stop,
	  .wait_anew = hog_pause,
	  .n_at_once = 1,
	  .fuzzy = true },
	{ .name = "blocked",
	  .when = "blocked",
	  .threshold = 100,
	  .hang = hang_blocked,
	  .rest = rest_blocked,
	  .n_at_once = 6,
	  .fuzzy = true }, /* children may wait for a lock of their memory */
	{ .name = "offcpu",
	  .when = "offcpu",
	  .condition = " && state == S",
	  .threshold = 100,
	  .hang = hang_in_call,
	  .rest = sleep_ns,
	  .n_at_once = 6,
	  .fuzzy = true }, /* a child that starts may wait */
	{ .name = "system call",
	  .when = "syscall:read,clock_nanosleep",
	  .threshold = 100,
	  .hang = hang_in_call,
	  .rest = sleep_ns,
	  .n_at_once = 6 },
	{ .name = "span of tracepoints",
	  .when = CALLS_AS_SPANS,
	  .table = "flights",
	  .threshold = 300,
	  .hang = hang_in_call,
	  .rest = sleep_ns,
	  .n_at_once = 6,
	  .fuzzy = true }, /* of other calls, too */
	{ .name = "span of places",
	  .when = PLACES,
	  .table = "spans",
	  .threshold = 100,
	  .hang = hang_in_span,
	  .rest = rest_in_span,
	  .n_at_once = 6 },
	{ .name = "function call",
	  .when = "uprobe:SELF:watched_call",
	  .table = "calls",
	  .threshold = 100,
	  .hang = watched_call,
	  .rest = rest_in_function,
	  .n_at_once = 6 },
	OF_DISKS("blkio"),
	OF_DISKS("blkio.device"),
	{ .name = "reclaim",
	  .when = "reclaim",
	  .threshold = 100,
	  .hang = hang_for_memory,
	  .rest = rest_for_memory,
	  .begin = memory_begin,
	  .again = memory_again,
	  .end = memory_end,
	  .let_go = disks_answer,
	  .n_at_once = 1,
	  .fuzzy = true }, /* reclaim may continue after let_go() */
};

#endif
