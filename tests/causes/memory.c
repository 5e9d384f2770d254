// SPDX-License-Identifier: GPL-2.0-only
/* Causes in memory, in kernel locks, and in interrupts. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stage.h"

#define LARGE	  (512UL << 20)
#define PORT	  4711
#define LISTENERS 256

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

static char *memory_of(size_t bytes)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || madvise(p, bytes, MADV_NOHUGEPAGE))
		die("mmap");
	return p;
}

static void touch(char *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 4096)
		p[i] = 'x';
}

/* The subject itself takes the time, as its page tables are copied. */
static void big_fork(struct stage *s)
{
	pid_t pid;

	touch(memory_of(LARGE), LARGE);
	begin(s);
	s->culprit = s->subject;
	pid = fork();
	if (!pid)
		_exit(0);
	end(s);
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		die("fork");
}

static void *populates(void *arg)
{
	struct stage *s = arg;

	s->culprit = my_tid();
	atomic_store(&s->phase, 1);
	if (madvise(s->memory, LARGE / 4, MADV_POPULATE_WRITE))
		not_here("MADV_POPULATE_WRITE");
	return NULL;
}

/*
 * The subject waits for mmap_lock to map memory, because another thread populates pages meanwhile.
 */
static void mmap_lock(struct stage *s)
{
	pthread_t t;

	s->memory = memory_of(LARGE / 4);
	t = start(populates, s);
	wait_phase(s, 1);
	usleep(3000);
	begin(s);
	memory_of(4096);
	end(s);
	pthread_join(t, NULL);
}

static void *writes_much(void *arg)
{
	struct stage *s = arg;

	s->culprit = my_tid();
	atomic_store(&s->phase, 1);
	if (pwrite(s->fd, s->memory, LARGE / 4, 0) != LARGE / 4)
		die("pwrite");
	return NULL;
}

/* One large write to a file blocks all others. */
static void inode_lock(struct stage *s)
{
	pthread_t t;

	snprintf(s->path, sizeof(s->path), "/dev/shm/cause-%d", getpid());
	s->fd = open(s->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (s->fd < 0)
		die(s->path);
	unlink(s->path);
	s->memory = memory_of(LARGE / 4);
	touch(s->memory, LARGE / 4);
	t = start(writes_much, s);
	wait_phase(s, 1);
	usleep(3000);
	begin(s);
	if (pwrite(s->fd, "x", 1, 0) != 1)
		die("pwrite");
	end(s);
	pthread_join(t, NULL);
}

/* ---- memory of a cgroup is used up ---- */

static char group[96];

static void leave_group(void)
{
	char path[160];
	int fd;

	snprintf(path, sizeof(path), "%.*s/cgroup.procs", (int)(strrchr(group, '/') - group),
		 group);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1 || rmdir(group))
		fprintf(stderr, "cause: %s: %s\n", group, strerror(errno));
}

static void group_write(const char *file, const char *text)
{
	char path[160];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", group, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		not_here(path);
	close(fd);
}

static void enter_group(const char *limit)
{
	bool v1 = access("/sys/fs/cgroup/cgroup.controllers", F_OK);

	snprintf(group, sizeof(group), "/sys/fs/cgroup/%scause-%d", v1 ? "memory/" : "", getpid());
	if (mkdir(group, 0755))
		not_here(group);
	atexit(leave_group);
	group_write(v1 ? "memory.limit_in_bytes" : "memory.max", limit);
	group_write("cgroup.procs", "0");
}

/* Each page of the file is mapped many times, so it takes long to reclaim it. */
static void memory_limit(struct stage *s)
{
	const size_t bytes = 20 << 20;
	char *p;
	int fd;

	snprintf(s->path, sizeof(s->path), "/var/tmp/cause-%d", getpid());
	fd = open(s->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || posix_fallocate(fd, 0, bytes))
		die(s->path);
	unlink(s->path);
	enter_group("28M");
	for (int i = 0; i < 160; i++) {
		p = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
		if (p == MAP_FAILED)
			die("mmap");
		for (size_t k = 0; k < bytes; k += 4096)
			(void)*(volatile char *)(p + k);
	}
	p = memory_of(bytes);
	begin(s);
	s->culprit = s->subject;
	touch(p, bytes);
	end(s);
}

/* ---- packets for another CPU ---- */

/* Let the loopback device of a separate namespace receive packets on @cpu. */
static void receive_on(int cpu)
{
	struct ifreq r = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = -1, mask;
	char text[32];

	if (unshare(CLONE_NEWNET | CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("cause", "/sys", "sysfs", 0, NULL))
		not_here("a network namespace");
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &r))
		not_here("the loopback of a namespace");
	close(fd);
	mask = open("/sys/class/net/lo/queues/rx-0/rps_cpus", O_WRONLY | O_CLOEXEC);
	snprintf(text, sizeof(text), "%x", 1U << cpu);
	if (mask < 0 || write(mask, text, strlen(text)) < 0)
		not_here("receive packet steering");
	close(mask);
}

/* The softirq that receives a broadcast packet copies it for each listening socket. */
static int udp_socket(bool listens)
{
	const struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on)) ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    (listens && bind(fd, (const void *)&any, sizeof(any))))
		die("socket");
	return fd;
}

static void *floods(void *arg)
{
	const struct sockaddr_in to = { .sin_family = AF_INET,
					.sin_port = htons(PORT),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK | 0xffffff) };
	struct stage *s = arg;
	char data[64] = "";
	int fd = udp_socket(false);

	for (int i = 0; i < LISTENERS; i++)
		udp_socket(true);
	pin(s->cpu - 1);
	if (sendto(fd, data, sizeof(data), 0, (const void *)&to, sizeof(to)) < 0)
		not_here("a packet to all");
	atomic_fetch_add(&s->phase, 1);
	while (!atomic_load(&s->stop))
		sendto(fd, data, sizeof(data), 0, (const void *)&to, sizeof(to));
	return NULL;
}

static void softirqs(struct stage *s)
{
	pthread_t t;

	if (!s->cpu || s->cpu > 30)
		not_here("a second CPU");
	receive_on(s->cpu);
	t = start(floods, s);
	pin(s->cpu);
	wait_phase(s, 1);
	begin(s);
	s->culprit = s->subject;
	while (now_ns() < s->from + s->ns)
		;
	end(s);
	atomic_store(&s->stop, true);
	pthread_join(t, NULL);
}

const struct cause_case memory_cases[] = {
	{ "big-fork", "computed", big_fork },	  { "mmap-lock", "computed", mmap_lock },
	{ "inode-lock", "computed", inode_lock }, { "memory-limit", "reclaim", memory_limit },
	{ "softirqs", "interrupt", softirqs },	  { 0 },
};
