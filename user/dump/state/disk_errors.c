// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "dump/state/disk_errors.h"

#define DISKS_MAX 128
#define SCAN_NS	  60000000000ULL

struct disk_errors {
	const char *dir;
	int fd[DISKS_MAX];
	size_t n;
	bool scanned;
	size_t n_devices; /* at the last scan */
	uint64_t time;	  /* of the last scan */
};

struct disk_errors *disk_errors__new(const char *dir)
{
	struct disk_errors *d = calloc(1, sizeof(*d));

	if (d)
		d->dir = dir;
	return d;
}

static void close_disks(struct disk_errors *d)
{
	while (d->n)
		close(d->fd[--d->n]);
}

static void scan_disks(struct disk_errors *d)
{
	DIR *dir = opendir(d->dir);
	char path[PATH_MAX];
	struct dirent *e;
	int fd;

	close_disks(d);
	while (dir && d->n < DISKS_MAX && (e = readdir(dir))) {
		if (e->d_name[0] == '.' || snprintf(path, sizeof(path), "%s/%s/device/ioerr_cnt",
						    d->dir, e->d_name) >= (int)sizeof(path))
			continue;
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0)
			d->fd[d->n++] = fd;
	}
	if (dir)
		closedir(dir);
}

/* Read "0x1f". False: the disk is gone. */
static bool read_errors(int fd, uint64_t *ret)
{
	char text[32], *end;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	uint64_t v;

	if (n <= 0)
		return false;
	text[n] = '\0';
	errno = 0;
	v = strtoull(text, &end, 16);
	*ret = end == text || errno ? 0 : v;
	return true;
}

/* Sum up the counters. False: a disk is gone. */
static bool sum_errors(const struct disk_errors *d, uint64_t *ret)
{
	uint64_t sum = 0, v;
	bool all = true;

	for (size_t i = 0; i < d->n; i++) {
		if (read_errors(d->fd[i], &v))
			sum += v;
		else
			all = false;
	}
	*ret = sum;
	return all;
}

uint64_t disk_errors__count(struct disk_errors *d, size_t n_devices, uint64_t now)
{
	bool scan = !d->scanned || d->n_devices != n_devices || now - d->time >= SCAN_NS;
	uint64_t sum = 0;

	if (!scan && sum_errors(d, &sum))
		return sum;
	scan_disks(d);
	d->scanned = true;
	d->n_devices = n_devices;
	d->time = now;
	sum_errors(d, &sum);
	return sum;
}

void disk_errors__free(struct disk_errors *d)
{
	if (!d)
		return;
	close_disks(d);
	free(d);
}
