// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes or reads a device or file with O_DIRECT, and prints the time that this took:
 *	direct_io PATH BYTES [read|write|fsync] [OFFSET]
 * prints "PID BEGIN END" (ns of CLOCK_MONOTONIC) of the one call; fsync writes before it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "workload.h"

int main(int argc, char **argv)
{
	size_t size = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	const char *op = argc > 3 ? argv[3] : "write";
	off_t offset = argc > 4 ? strtoll(argv[4], NULL, 0) : 0;
	uint64_t begin, end;
	ssize_t n;
	void *buf;
	int fd;

	if (!size)
		return fprintf(stderr, "usage: direct_io PATH BYTES [read|write|fsync] [OFFSET]\n"),
		       1;
	prctl(PR_SET_NAME, "frbpf-io");
	fd = open(argv[1], O_RDWR | O_CLOEXEC | (strcmp(op, "fsync") ? O_DIRECT : 0));
	if (fd < 0)
		die(argv[1], errno);
	if (posix_memalign(&buf, 4096, size))
		die("no memory", errno);
	memset(buf, 0x5a, size);
	if (strcmp(op, "fsync") == 0 && pwrite(fd, buf, size, offset) != (ssize_t)size)
		die("write", errno);
	begin = now_ns();
	if (strcmp(op, "fsync") == 0)
		n = fsync(fd) ? -1 : (ssize_t)size;
	else if (strcmp(op, "read") == 0)
		n = pread(fd, buf, size, offset);
	else
		n = pwrite(fd, buf, size, offset);
	end = now_ns();
	if (n != (ssize_t)size)
		die(op, errno);
	printf("%d %llu %llu\n", getpid(), (unsigned long long)begin, (unsigned long long)end);
	return 0;
}
