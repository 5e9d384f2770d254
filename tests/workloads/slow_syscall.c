// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes a system call that really takes N ms, in each of K threads, T times.
 *
 * slow_syscall [--ms N] [--call clock_nanosleep|nanosleep|read|fsync] [--comm NAME] [--threads K]
 * [--times T] [--dir DIR]
 *
 * Prints one line of JSON per slow call. begin_ns is taken before and end_ns after the call, so the
 * kernel's own measure is inside. The time of an fsync cannot be set: a file in DIR gets more and
 * more dirty data until it takes that long. Earlier, quicker calls are not printed. Exit status 1
 * if no call is slow enough.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "workload.h"

#define COMM_MAX    15
#define MAX_THREADS 256
#define FSYNC_FIRST (8UL << 20)
#define FSYNC_MAX   (2UL << 30) /* dirty bytes, of one call */

struct span_ns {
	uint64_t begin, end;
};

struct args {
	uint64_t ms;
	const struct call *call;
	const char *comm;
	const char *dir;
	int threads, times;
};

/*
 * run() makes the call and measures it. False, with a message on standard error: the call did not
 * take that long.
 */
struct call {
	const char *name;
	bool (*run)(const struct args *a, struct span_ns *ret);
};

static struct timespec duration(uint64_t ms)
{
	return (struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
}

static bool run_clock_nanosleep(const struct args *a, struct span_ns *ret)
{
	struct timespec ts = duration(a->ms);

	ret->begin = now_ns();
	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL);
	ret->end = now_ns();
	return true;
}

/* not glibc's nanosleep(), which makes the call above */
static bool run_nanosleep(const struct args *a, struct span_ns *ret)
{
	struct timespec ts = duration(a->ms);

	ret->begin = now_ns();
	syscall(SYS_nanosleep, &ts, NULL);
	ret->end = now_ns();
	return true;
}

struct filler {
	int fd;
	uint64_t ms;
};

static void *filler_main(void *arg)
{
	const struct filler *f = arg;
	struct timespec ts = duration(f->ms + 1);

	prctl(PR_SET_NAME, "filler");
	while (nanosleep(&ts, &ts))
		;
	if (write(f->fd, "", 1) != 1)
		die("write to pipe", errno);
	return NULL;
}

static bool run_read(const struct args *a, struct span_ns *ret)
{
	struct filler filler = { .ms = a->ms };
	pthread_t thread;
	int fds[2], err;
	char byte;

	if (pipe2(fds, O_CLOEXEC))
		die("pipe", errno);
	filler.fd = fds[1];
	err = pthread_create(&thread, NULL, filler_main, &filler);
	if (err)
		die("pthread_create", err);
	ret->begin = now_ns();
	if (read(fds[0], &byte, 1) != 1)
		die("read from pipe", errno);
	ret->end = now_ns();
	pthread_join(thread, NULL);
	close(fds[0]);
	close(fds[1]);
	return true;
}

static int open_scratch(const char *dir)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/slow_syscall.XXXXXX", dir);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		die(path, errno);
	unlink(path);
	return fd;
}

static void make_dirty(int fd, size_t bytes)
{
	static const char block[1 << 20] = { 1 };

	if (lseek(fd, 0, SEEK_SET) < 0)
		die("lseek", errno);
	for (size_t done = 0; done < bytes; done += sizeof(block))
		if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
			die("write", errno);
}

static bool run_fsync(const struct args *a, struct span_ns *ret)
{
	int fd = open_scratch(a->dir);
	bool slow = false;

	for (size_t bytes = FSYNC_FIRST; !slow && bytes <= FSYNC_MAX; bytes *= 2) {
		make_dirty(fd, bytes);
		ret->begin = now_ns();
		if (fsync(fd))
			die("fsync", errno);
		ret->end = now_ns();
		slow = ret->end - ret->begin >= a->ms * 1000000;
	}
	close(fd);
	if (!slow)
		fprintf(stderr, "slow_syscall: fsync in %s is never that slow\n", a->dir);
	return slow;
}

static const struct call calls[] = {
	{ "clock_nanosleep", run_clock_nanosleep },
	{ "nanosleep", run_nanosleep },
	{ "read", run_read },
	{ "fsync", run_fsync },
	{ 0 },
};

static const struct call *find_call(const char *name)
{
	for (const struct call *c = calls; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

/* Returns NULL if every call was as slow as requested. */
static void *victim_main(void *arg)
{
	const struct args *a = arg;
	struct span_ns span;

	prctl(PR_SET_NAME, a->comm);
	for (int i = 0; i < a->times; i++) {
		if (!a->call->run(a, &span))
			return arg;
		printf("{\"pid\":%d,\"tid\":%d,\"comm\":\"%s\",\"call\":\"%s\",\"took_ns\":%llu,"
		       "\"begin_ns\":%llu,\"end_ns\":%llu}\n",
		       getpid(), (int)syscall(SYS_gettid), a->comm, a->call->name,
		       (unsigned long long)(span.end - span.begin), (unsigned long long)span.begin,
		       (unsigned long long)span.end);
	}
	return NULL;
}

static void usage(void)
{
	fprintf(stderr,
		"usage: slow_syscall [--ms N] [--call clock_nanosleep|nanosleep|read|fsync]\n"
		"                    [--comm NAME] [--threads K] [--times T] [--dir DIR]\n");
	exit(2);
}

static void parse_options(int argc, char **argv, struct args *a)
{
	static const struct option options[] = {
		{ "ms", required_argument, NULL, 'm' },
		{ "call", required_argument, NULL, 'x' },
		{ "comm", required_argument, NULL, 'c' },
		{ "threads", required_argument, NULL, 'k' },
		{ "times", required_argument, NULL, 't' },
		{ "dir", required_argument, NULL, 'd' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'm':
			a->ms = strtoull(optarg, NULL, 10);
			break;
		case 'x':
			a->call = find_call(optarg);
			break;
		case 'c':
			a->comm = optarg;
			break;
		case 'k':
			a->threads = atoi(optarg);
			break;
		case 't':
			a->times = atoi(optarg);
			break;
		case 'd':
			a->dir = optarg;
			break;
		default:
			usage();
		}
	}
	if (optind < argc || !a->ms || !a->call || strlen(a->comm) > COMM_MAX ||
	    strpbrk(a->comm, "\"\\") || a->threads < 1 || a->threads > MAX_THREADS || a->times < 1)
		usage();
}

int main(int argc, char **argv)
{
	const char *tmpdir = getenv("TMPDIR");
	struct args a = {
		.ms = 400,
		.call = &calls[0],
		.comm = "frbpf-victim",
		.dir = tmpdir ? tmpdir : "/var/tmp",
		.threads = 1,
		.times = 1,
	};
	pthread_t threads[MAX_THREADS];
	void *too_quick;
	int status = 0;

	parse_options(argc, argv, &a);
	for (int i = 0; i < a.threads; i++) {
		int err = pthread_create(&threads[i], NULL, victim_main, &a);

		if (err)
			die("pthread_create", err);
	}
	for (int i = 0; i < a.threads; i++) {
		pthread_join(threads[i], &too_quick);
		if (too_quick)
			status = 1;
	}
	return status;
}
