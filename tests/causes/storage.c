// SPDX-License-Identifier: GPL-2.0-only
/* Causes in file systems and disks, and by other users of the same disk. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "slow_disk.h"
#include "stage.h"

#define PACE_NS	  3000000    /* of a request to the slow disk, at most 128 KiB */
#define DISK_SIZE (96 << 20) /* bytes */

static struct slow_disk *disk;

static char *block_of(size_t bytes)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	memset(p, 'x', bytes);
	return p;
}

/* How many bytes keep the slow disk busy for the time of the case. */
static size_t enough(const struct stage *s)
{
	return (s->ns / PACE_NS + 1) * (128 << 10);
}

static int open_file_in(const char *directory, const char *name, int flags)
{
	char path[160];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, flags | O_CLOEXEC, 0600);
	if (fd < 0)
		die(path);
	return fd;
}

/* A file on the slow disk's ext4 with allocated blocks. */
static int allocated_file(const char *name, size_t bytes)
{
	int fd = open_file_in(disk->mounted, name, O_RDWR | O_CREAT);
	char *p = block_of(bytes);

	if (pwrite(fd, p, bytes, 0) != (ssize_t)bytes || fsync(fd))
		die(name);
	munmap(p, bytes);
	return fd;
}

static void make_disk(void)
{
	disk = slow_disk__serve(DISK_SIZE);
	slow_disk__attach(disk);
}

static void make_file_system(void)
{
	make_disk();
	slow_disk__mount(disk);
}

static void write_start(int fd, size_t bytes)
{
	char *p = block_of(bytes);

	if (pwrite(fd, p, bytes, 0) != (ssize_t)bytes)
		die("pwrite");
	munmap(p, bytes);
}

static void *writes_back(void *arg)
{
	struct stage *s = arg;

	s->culprit = my_tid();
	write_start(s->fd, enough(s));
	atomic_store(&s->phase, 1);
	if (sync_file_range(s->fd, 0, enough(s), SYNC_FILE_RANGE_WRITE))
		die("sync_file_range");
	return NULL;
}

/* fsync() waits while pages of another file are written back to the same disk. */
static void fsync_behind(struct stage *s)
{
	pthread_t t;
	int mine;

	make_file_system();
	s->fd = allocated_file("theirs", enough(s));
	mine = allocated_file("mine", 4096);
	*disk->pace = PACE_NS;
	t = start(writes_back, s);
	wait_phase(s, 1);
	usleep(3000);
	write_start(mine, 4096);
	begin(s);
	if (fdatasync(mine))
		die("fdatasync");
	end(s);
	*disk->pace = 0;
	pthread_join(t, NULL);
}

/* Another file's data are in the journal transaction that the subject's fsync() waits for. */
static void *fills_journal(void *arg)
{
	struct stage *s = arg;
	int fd = open_file_in(disk->mounted, "theirs", O_RDWR | O_CREAT);

	s->culprit = my_tid();
	write_start(fd, enough(s));
	atomic_store(&s->phase, 1);
	if (fsync(fd))
		die("fsync");
	return NULL;
}

static void journal(struct stage *s)
{
	pthread_t t;
	int mine;

	make_file_system();
	*disk->pace = PACE_NS;
	t = start(fills_journal, s);
	wait_phase(s, 1);
	usleep(3000);
	mine = open_file_in(disk->mounted, "mine", O_RDWR | O_CREAT);
	begin(s);
	if (fsync(mine))
		die("fsync");
	end(s);
	*disk->pace = 0;
	pthread_join(t, NULL);
}

/* Read or write the device directly; @phase, if any, becomes 1 just before. */
static void direct(bool write, size_t bytes, off_t where, atomic_int *phase)
{
	int fd = open(disk->device, O_RDWR | O_DIRECT | O_CLOEXEC);
	char *p = block_of(bytes);

	if (phase)
		atomic_store(phase, 1);
	if (fd < 0 ||
	    (write ? pwrite(fd, p, bytes, where) : pread(fd, p, bytes, where)) != (ssize_t)bytes)
		die(disk->device);
	close(fd);
	munmap(p, bytes);
}

static void *fills_queue(void *arg)
{
	struct stage *s = arg;

	s->culprit = my_tid();
	direct(true, enough(s), 0, &s->phase);
	return NULL;
}

/* Requests of another thread are before the subject's in the queue of the disk. */
static void queue_behind(struct stage *s)
{
	pthread_t t;

	make_disk();
	*disk->pace = PACE_NS;
	t = start(fills_queue, s);
	wait_phase(s, 1);
	usleep(3000);
	begin(s);
	direct(false, 4096, DISK_SIZE / 2, NULL);
	end(s);
	*disk->pace = 0;
	pthread_join(t, NULL);
}

static void *owner_syncs(void *arg)
{
	struct stage *s = arg;

	s->culprit = my_tid();
	pthread_mutex_lock(&s->lock);
	write_start(s->fd, enough(s));
	pthread_barrier_wait(&s->ready);
	if (fdatasync(s->fd))
		die("fdatasync");
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static void lock_io(struct stage *s)
{
	pthread_t t;

	make_file_system();
	s->fd = allocated_file("data", enough(s));
	*disk->pace = PACE_NS;
	t = start(owner_syncs, s);
	pthread_barrier_wait(&s->ready);
	begin(s);
	pthread_mutex_lock(&s->lock);
	end(s);
	pthread_mutex_unlock(&s->lock);
	*disk->pace = 0;
	pthread_join(t, NULL);
}

static void *first_relay(void *arg)
{
	struct stage *s = arg;

	atomic_fetch_add(&s->phase, 1);
	relay(s->pair[1], s->other[0]);
	return NULL;
}

static void *second_relay(void *arg)
{
	struct stage *s = arg;

	atomic_fetch_add(&s->phase, 1);
	relay(s->other[1], s->third[0]);
	return NULL;
}

static void *reads_disk(void *arg)
{
	struct stage *s = arg;
	char c;

	s->culprit = my_tid();
	atomic_fetch_add(&s->phase, 1);
	if (read(s->third[1], &c, 1) != 1)
		die("read");
	direct(false, enough(s), 0, NULL);
	if (write(s->third[1], &c, 1) != 1)
		die("write");
	return NULL;
}

/*
 * The subject asks the first of three servers in a chain, each a process of its own; the last one
 * waits for the disk.
 */
static void three_servers(struct stage *s)
{
	pid_t a, b, c;

	make_disk();
	*disk->pace = PACE_NS;
	a = start_process(first_relay, s);
	b = start_process(second_relay, s);
	c = start_process(reads_disk, s);
	wait_phase(s, 3);
	ask(s, s->pair[0]);
	*disk->pace = 0;
	join_process(a);
	join_process(b);
	join_process(c);
}

/* A page fault on a file whose FUSE server is slow. */
static void fuse_fault(struct stage *s)
{
	volatile char *p;
	int fd;

	disk = slow_disk__serve(DISK_SIZE);
	fd = open(disk->file, O_RDONLY | O_CLOEXEC);
	p = fd < 0 ? MAP_FAILED : mmap(NULL, DISK_SIZE, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED || madvise((char *)p, DISK_SIZE, MADV_RANDOM))
		die(disk->file);
	s->culprit = disk->server;
	*disk->pace = s->ns;
	begin(s);
	(void)p[DISK_SIZE / 2];
	end(s);
	*disk->pace = 0;
}

static bool write_knob(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

	if (fd >= 0)
		close(fd);
	return n == (ssize_t)strlen(text);
}

static char limited[96];

static void leave_limited(void)
{
	char path[160];

	snprintf(path, sizeof(path), "%.*s/cgroup.procs", (int)(strrchr(limited, '/') - limited),
		 limited);
	write_knob(path, "0");
	rmdir(limited);
}

/* Enter a cgroup that may read @bytes a second from the disk. */
static void limit_reads(unsigned int bytes)
{
	static const char *const base[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/blkio" };
	bool v1 = access("/sys/fs/cgroup/cgroup.controllers", F_OK);
	char path[160], text[64];
	struct stat st;

	snprintf(limited, sizeof(limited), "%s/cause-%d", base[v1], getpid());
	if (stat(disk->device, &st) || mkdir(limited, 0755))
		not_here("a cgroup that limits what is read");
	atexit(leave_limited);
	snprintf(path, sizeof(path), "%s/%s", limited,
		 v1 ? "blkio.throttle.read_bps_device" : "io.max");
	snprintf(text, sizeof(text), "%u:%u %s%u", major(st.st_rdev), minor(st.st_rdev),
		 v1 ? "" : "rbps=", bytes);
	if (!write_knob(path, text))
		not_here("a cgroup that limits what is read");
	snprintf(path, sizeof(path), "%s/cgroup.procs", limited);
	if (!write_knob(path, "0"))
		die(path);
}

/*
 * The limit is so low that the request does not reach the disk. The kernel lets the bytes of 100 ms
 * pass at once.
 */
static void io_limit(struct stage *s)
{
	make_disk();
	limit_reads(65536 * 1000 / (3 * s->ns / 1000000));
	direct(false, 4096, 0, NULL);
	begin(s);
	s->culprit = s->subject;
	direct(false, 65536, 65536, NULL);
	end(s);
}

const struct cause_case storage_cases[] = {
	{ "fsync-behind", "device", fsync_behind },
	{ "queue-behind", "device", queue_behind },
	{ "lock-io", "device", lock_io },
	{ "journal", "device", journal },
	{ "three-servers", "device", three_servers },
	{ "fuse-fault", "own-timer", fuse_fault },
	{ "io-limit", "io-limit", io_limit },
	{ 0 },
};
